"""What a benchmark is: a record of pure functions; it never sees a socket and never prints."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from vqa_client.types import Answer, Choosing, Completion, Question, Score


class Task(Struct, frozen=True, kw_only=True):
    """The functions of one benchmark.

    `scoring` names everything that `parse` and `score` depend on (parser, flags, a version): records made under
    another `scoring` are parsed and scored again without being asked again. `headline` says of what metric the
    score's value is. `text_first` puts the prompt before the images; `choosing` says that answers aren't read from free
    text.
    """

    name: str
    prompt: Callable[[Question], str]
    parse: Callable[[Completion, Question], Answer]
    score: Callable[[Answer, Completion, Question], Score]
    scoring: dict[str, str]
    headline: str
    text_first: bool = False
    choosing: Choosing | None = None


class Loaded(Struct, frozen=True, kw_only=True):
    """The questions of one data file and one page folder, built again at each walk over `questions`.

    `count` is their number, known before the walk; `left_out` maps a reason ("no_images", "blacklisted", ...) to the
    ids of the instances that are not asked and not in any total; `data_sha256` is the digest of the data file.
    `notes` say what in the data a reader of the numbers should know.
    """

    questions: Iterable[Question]
    count: int
    left_out: dict[str, tuple[str, ...]] = {}
    data_sha256: str = ""
    notes: tuple[str, ...] = ()
