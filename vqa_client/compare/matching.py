"""Matches the records of two sides by question, and checks that they can be compared."""

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct

from vqa_client.compare.sides import Kept, Side
from vqa_client.errors import DataError, IdentityError
from vqa_client.files import natural_key
from vqa_client.log_lines import Key
from vqa_client.reports.logged_run import headline_of
from vqa_client.reports.names import count, cut, first_of, flat

EXAMPLES = 3
_SAME_DATA = "compare runs over one data file; a run's own command with the other file re-scores its saved replies"
_FOLDER_KEY = "variant"
"""The key of the page folder, or of another part of the data, in an identity."""
_IN_LABELS = frozenset({"task", "model.model_name"})
"""Keys of an identity that a comparison's title already names."""
_RESCORE = "vqa-client rescore RUN --write reads a run's replies as today"
_WORDS = {"version": "version of the reading and scoring", _FOLDER_KEY: "folder"}
"""Keys in words."""
_LONGEST_VALUE = 100


class Pair(Struct, frozen=True, gc=False):
    """One question in both sides; `key` is the first side's, `cluster` the image or document, else the question."""

    key: Key
    a: Kept
    b: Kept
    cluster: str

    @property
    def other_prompt(self) -> bool:
        """Whether both prompts are known and differ: answers from a file have none."""
        return bool(self.a.prompt and self.b.prompt) and self.a.prompt != self.b.prompt

    @property
    def gap(self) -> float:
        """How much more the second side scores."""
        return self.b.score - self.a.score

    @property
    def changed(self) -> bool:
        """Whether the scores differ by more than rounding."""
        return abs(self.gap) > 1e-9


class Matched(Struct, frozen=True, kw_only=True):
    """The questions of both sides and those of only one, by the first side's keys.

    `variants` are those of both sides if questions match only by id, else None.
    """

    pairs: list[Pair]
    only_a: list[Key]
    only_b: list[Key]
    variants: tuple[str, str] | None

    def other_key(self, key: Key) -> Key:
        """The second side's own key of a question."""
        return key if self.variants is None else (key[0], self.variants[1])

    @property
    def headline(self) -> str | None:
        """The variant of the figures, None for fewer than two variants."""
        return headline_of(sorted({pair.key[1] for pair in self.pairs}, key=natural_key))

    def of_variant(self, variant: str | None) -> list[Pair]:
        """The pairs of one variant, or all pairs for None."""
        return [pair for pair in self.pairs if variant is None or pair.key[1] == variant]

    def question_name(self, pair: Pair) -> str:
        """A pair's question for people; without a variant if it matched only by id."""
        return pair.key[0] if self.variants else question_name(pair.key)


def match(a: Side, b: Side) -> Matched:
    """Match by question id and variant.

    Sides without a common variant match only by id if one of them has a single variant; of the other's several variants
    only that of the headline figures is compared. Raises IdentityError that says what differs if the sides are of other
    data; DataError if nothing matches.
    """
    if a.task and b.task and a.task != b.task:
        reason = f"{a.path} and {b.path} can't be compared:\n  task: {a.task!r} and {b.task!r}"
        raise IdentityError(reason, hint="compare runs of one benchmark")
    kept, others, variants = a.kept, b.kept, None
    if not a.variants & b.variants and (a.only_variant is not None or b.only_variant is not None):
        variants = a.headline, b.headline
        kept = a.of_headline()
        others = {(key[0], variants[0]): record for key, record in b.of_headline().items()}
    pairs = _pairs({key: (record, others[key]) for key, record in kept.items() if key in others})
    only_a = [key for key in kept if key not in others]
    only_b = [key for key in others if key not in kept]
    if not pairs:
        raise DataError(
            f"{a.path} and {b.path} have no question in common: {_examples(only_a)} and {_examples(only_b)}",
            hint="compare runs over the same data, and the same image folders or corruptions",
        )
    _check_data(a, b, pairs)
    return Matched(pairs=pairs, only_a=only_a, only_b=only_b, variants=variants)


def _pairs(both: Mapping[Key, tuple[Kept, Kept]]) -> list[Pair]:
    """The pairs with their clusters; clusters that the sides name or divide differently are joined."""
    joined: dict[str, set[str]] = {}
    for a, b in both.values():
        if a.cluster != b.cluster and a.cluster and b.cluster:
            fewer, more = sorted((joined.setdefault(name, {name}) for name in (a.cluster, b.cluster)), key=len)
            if fewer is not more:
                more |= fewer
                joined |= dict.fromkeys(fewer, more)
    first = {name: min(names) for name, names in joined.items()}
    clustered = ((key, a, b, a.cluster or b.cluster or key[0]) for key, (a, b) in both.items())
    return [Pair(key, a, b, first.get(name, name)) for key, a, b, name in clustered]


def _check_data(a: Side, b: Side, pairs: Sequence[Pair]) -> None:
    """Raise IdentityError if data or right answers differ, DataError if no question has a right answer.

    Data that one side doesn't know doesn't differ, nor do letters of choices that were asked in other orders.
    """
    other_data = bool(a.digests and b.digests) and a.digests != b.digests
    other_key = [pair for pair in pairs if pair.a.references != pair.b.references]
    if other_key and not other_data and _other_orders(a, b):
        return
    if not other_data and not other_key:
        if not any(pair.a.references for pair in pairs):
            raise DataError(f"{a.path} and {b.path}: no question has a right answer, so there are no scores to compare")
        return
    lines = [f"  data_sha256: {_digests_text(a)} and {_digests_text(b)}"] if other_data else []
    lines += list(_key_lines(other_key))
    prompts = sum(pair.other_prompt for pair in pairs)
    lines.append(f"  of {len(pairs):,} matched questions {len(other_key):,} have another right answer,")
    lines.append(
        f"  {prompts:,} another prompt; {len(a.kept) - len(pairs):,} and {len(b.kept) - len(pairs):,} no match"
    )
    raise IdentityError(f"{a.path} and {b.path} are of other data:\n" + "\n".join(lines), hint=_SAME_DATA)


def _other_orders(a: Side, b: Side) -> bool:
    """Whether both sides asked one data file with choices in different orders: then their right letters differ."""
    orders = [_facts(side, "identity").get("asked", set()) for side in (a, b)]
    return bool(a.digests) and a.digests == b.digests and orders[0] != orders[1] and "'shuffled" in str(orders)


def _digests_text(side: Side) -> str:
    return ", ".join(sorted(f"{digest:.12}..." for digest in side.digests))


def _key_lines(pairs: Sequence[Pair]) -> Iterator[str]:
    for pair in pairs[:EXAMPLES]:
        answers = [", ".join(map(repr, dict.fromkeys(kept.references))) or "none" for kept in (pair.a, pair.b)]
        a, b = (cut(answer, _LONGEST_VALUE) for answer in answers)
        yield f"  right answer of {question_name(pair.key)}: {a} and {b}"


def _examples(keys: Sequence[Key]) -> str:
    return first_of(list(map(question_name, keys[: EXAMPLES + 1])), EXAMPLES) or "nothing"


def question_name(key: Key) -> str:
    """A question for people, with its variant if it has one."""
    return f"{key[0]} ({key[1]})" if key[1] else key[0]


def warnings(a: Side, b: Side, matched: Matched) -> list[str]:
    """What a reader should know before trusting the comparison."""
    notes = [note for side in (a, b) for note in side.notes]
    for side, only in ((a, matched.only_a), (b, matched.only_b)):
        if only:
            notes.append(f"only in {side.label}, and not compared: {count(len(only), 'question')}: {_examples(only)}")
    if matched.variants:
        variants = (f"{side.label} is {name!r}" for side, name in zip((a, b), matched.variants, strict=True))
        notes.append(f"matched only by question id: {', '.join(variants)}")
    if prompts := sum(pair.other_prompt for pair in matched.pairs):
        notes.append(f"warning: the prompts of {prompts:,} of {len(matched.pairs):,} questions differ")
    if _other_orders(a, b):
        notes.append(
            "the choices are in other orders, so a letter is another choice: only right and wrong are compared"
        )
    if differing := _differing(a, b, "scoring"):
        hint = f"; {_RESCORE}" if _WORDS["version"] in differing else ""
        notes.append(f"warning: replies are read or scored otherwise, so scores may differ for that: {differing}{hint}")
    unknown = [side.label for side in (a, b) if not all(side.facts("identity"))]
    if unknown:
        notes.append(f"warning: without a run file nothing is known of the data and parser of {' and '.join(unknown)}")
    folders = {run.folder for side in (a, b) for run in side.runs}
    are_variants = folders <= a.variants | b.variants  # then the figures, or the note on the match, name them
    if differing := _differing(a, b, "identity", without=_IN_LABELS | ({_FOLDER_KEY} if are_variants else set())):
        notes.append(f"what else was set otherwise: {differing}")
    n_variants = len({pair.key[1] for pair in matched.pairs})
    over = f" (in all {n_variants:,} variants)" if n_variants > 1 else ""  # figures are of one of them
    for side, replies in ((a, [pair.a for pair in matched.pairs]), (b, [pair.b for pair in matched.pairs])):
        if failed := sum(not kept.answered for kept in replies):
            notes.append(f"{side.label}: {count(failed, 'question')} without a reply, counted as wrong{over}")
    return notes


def _facts(side: Side, name: str) -> dict[str, set[str]]:
    """The values of each fact in the identity or the scoring of a side's runs."""
    values: dict[str, set[str]] = {}
    for facts in side.facts(name):
        for key, value in flat(facts).items():
            values.setdefault(key, set()).add(repr(value))
    return values


def _differing(a: Side, b: Side, name: str, without: Set[str] = frozenset()) -> str:
    """The facts that differ, in words; a fact of only one side counts unless the other side knows none at all."""
    of_a, of_b = _facts(a, name), _facts(b, name)
    keys = sorted((of_a.keys() | of_b.keys()) - without) if of_a and of_b else []
    differing = [(key, of_a.get(key, set()), of_b.get(key, set())) for key in keys if of_a.get(key) != of_b.get(key)]
    return "; ".join(f"{_WORDS.get(key, key)}: {_values_text(x)} and {_values_text(y)}" for key, x, y in differing)


def _values_text(values: Set[str]) -> str:
    return cut("/".join(sorted(values)), _LONGEST_VALUE) if values else "not set"
