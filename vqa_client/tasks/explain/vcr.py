"""VCR: questions on film stills, answered in free text or, where there are choices, by letter.

`free` asks for an answer and an explanation in words. `q2a` asks for the letter of the answer and an explanation.
`qa2r` gives the right answer and asks for the letter of the rationale. `q2ar` asks for both letters in one reply, where
answers are A to D and rationales E to H; a reply is right where both letters are. There the model sees the rationales
while it chooses an answer, unlike in the benchmark's own two-step protocol.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from vqa_client.benchmark import Benchmark, Metric
from vqa_client.scoring.explained_answer import read_letter, read_reason, read_sentence, read_two_letters, two_letters
from vqa_client.scoring.reply import Reply
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.tasks.choices import label_choices
from vqa_client.tasks.explain.dataset import Dataset, NleRow
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.explain.prompts import FREE, Q2A, Q2AR, QA2R, Wording
from vqa_client.types import Answer, Question

Spoken = str | list[str | int | list[int]] | None
"""A sentence, or its tokens; a list of numbers is a token for people and things."""


class VcrRow(NleRow, frozen=True, kw_only=True):
    """One question on a film still.

    NLX-GPT's form has the right answer in `answers` and no choices; e-ViL's form has `answer_choices` and the right
    explanation alone; the benchmark's own form has `rationale_choices` too.
    """

    folder: ClassVar = "vcr1images"
    question: Spoken = None
    sent: Spoken = None
    answers: Any = None
    answer_choices: list[Spoken] | None = None
    label: int | None = None
    answer_label: int | None = None
    rationale_choices: list[Spoken] | None = None
    rationale_label: int | None = None
    img_name: str | None = None
    raw_img_id: str | None = None
    raw_img: str | None = None
    img_fn: str | None = None
    img_id: str | None = None
    objects: tuple[str, ...] = ()

    def text(self) -> str:
        return self._sentence(self.sent if self.sent else self.question)

    def choices(self) -> list[str]:
        """The answers to choose from; NLX-GPT's form has none."""
        return [self._sentence(tokens) for tokens in self.answer_choices or ()]

    def right_choice(self) -> int | None:
        """The index of the right answer, None where it is unknown."""
        return _place(self.label if self.label is not None else self.answer_label, self.answer_choices)

    def answer(self) -> str:
        """The text of the right answer, or ""."""
        place = self.right_choice()
        if place is not None:
            return self.choices()[place]
        return self.answers.strip() if isinstance(self.answers, str) else ""

    def reasons(self) -> list[str]:
        """The rationales to choose from."""
        return [self._sentence(tokens) for tokens in self.rationale_choices or ()]

    def right_reason(self) -> int | None:
        """The index of the right rationale, None where it is unknown."""
        return _place(self.rationale_label, self.rationale_choices)

    def all_explanations(self) -> tuple[str, ...]:
        """The explanations by people, else the right rationale."""
        place = self.right_reason()
        return self.gold_explanations() or ((self.reasons()[place],) if place is not None else ())

    def photo(self) -> str:
        by_features = (self.img_id or "").replace(".npz", ".jpg")
        name = self.img_name or self.raw_img_id or self.raw_img or self.img_fn or by_features
        return name.lstrip("/").removeprefix(f"{self.folder}/")

    def _sentence(self, spoken: Spoken) -> str:
        if spoken is None or isinstance(spoken, str):
            return (spoken or "").strip()
        return " ".join(self._token(token) for token in spoken)

    def _token(self, token: str | int | list[int]) -> str:
        """People and things in the words of NLX-GPT: "person0 and person2"."""
        if isinstance(token, str):
            return token
        places = [token] if isinstance(token, int) else token
        kinds = self.objects
        return " and ".join(f"{kinds[at] if 0 <= at < len(kinds) else 'object'}{at}" for at in places)


def _place(label: int | None, choices: list[Spoken] | None) -> int | None:
    return label if label is not None and choices and 0 <= label < len(choices) else None


_NLX = {split: f"vcr_{split}.json" for split in ("train", "val", "test")}
_EVIL = {"train": "vcr_train_split.json", "val": "vcr_dev_split.json", "test": "vcr_valtest.json"}
_OWN = {"train": "train.jsonl", "val": "val.jsonl", "test": ""}
_NO_CHOICES = (
    "has no answer_choices, so there are no letters to ask for",
    "files of the e-ViL form (vcr_dev_split.json) have them; or --vcr_mode free",
)
_NO_REASONS = (
    "has no rationale_choices and rationale_label: it contains right explanations and no wrong ones to choose from",
    "put the benchmark's own train.jsonl or val.jsonl into nle_data/VCR; or --vcr_mode q2a or free",
)


def _free(sample_id: str, row: VcrRow, path: str) -> Question | str:
    answer = row.answer()
    return _question(sample_id, row, path, answer) if answer else "no_answer"


def _q2a(sample_id: str, row: VcrRow, path: str) -> Question | str:
    right = row.right_choice()
    if right is None:
        return _lacks_answer(row)
    choices = label_choices(row.choices())
    return _question(sample_id, row, path, list(choices)[right], choices, gold_text=row.answer())


def _qa2r(sample_id: str, row: VcrRow, path: str) -> Question | str:
    right, answer = row.right_reason(), row.answer()
    if right is None:
        return _lacks_reason(row)
    if not answer:
        return "no_answer"
    choices = label_choices(row.reasons())
    return _question(sample_id, row, path, list(choices)[right], choices, given_answer=answer)


def _q2ar(sample_id: str, row: VcrRow, path: str) -> Question | str:
    right, reason = row.right_choice(), row.right_reason()
    if reason is None:
        return _lacks_reason(row)
    if right is None:
        return _lacks_answer(row)
    choices = label_choices(row.choices())
    reasons = label_choices(row.reasons(), after=len(choices))
    gold = two_letters(list(choices)[right], list(reasons)[reason])
    return _question(sample_id, row, path, gold, choices, reasons=reasons)


def _lacks_answer(row: VcrRow) -> str:
    return "no_answer" if row.answer_choices else "no_choices"


def _lacks_reason(row: VcrRow) -> str:
    return "no_rationale" if row.rationale_choices else "no_rationale_choices"


def _question(
    sample_id: str, row: VcrRow, path: str, gold: str, choices: Mapping[str, str] = {}, **extra: Any
) -> Question:
    columns = {
        "image_name": os.path.basename(row.photo()),
        "gt_answer": row.answer(),
        "options": " || ".join(row.choices()),
    }
    return Question(
        id=sample_id,
        text=row.text(),
        images=(path,),
        choices=dict(choices),
        references=(gold,),
        rationales=row.all_explanations(),
        cluster=row.photo(),
        extra={"gold": gold, "columns": columns} | extra,
    )


def _half(place: int) -> Callable[[str, Question], float]:
    """The score of one letter of Q->AR: the answer (place 0) or the rationale (place 2)."""

    def right(answer: str, question: Question) -> float:
        return float(answer.partition(" because ")[place] == question.extra["gold"].partition(" because ")[place])

    return right


def _vcr(
    wording: Wording,
    question: Callable[[str, VcrRow, str], Question | str],
    read: Callable[[Reply, Question], Answer],
    forms: tuple[Mapping[str, str], ...],
    *,
    metrics: tuple[Metric, ...] = (),
    published: bool = True,
) -> Dataset[VcrRow]:
    files = {split: tuple(form[split] for form in forms if form[split]) for split in ("train", "val", "test")}
    return Dataset(
        name="vcr",
        title="VCR",
        folders=("VCR", "VCR_original"),
        files=files,
        row=VcrRow,
        question=question,
        wording=wording,
        read=read,
        metrics=metrics,
        lacking={"no_choices": _NO_CHOICES, "no_rationale_choices": _NO_REASONS},
        published=published,
    )


VCR_TASKS: Final[Mapping[str, Dataset[VcrRow]]] = {
    "free": _vcr(FREE, _free, lambda reply, question: read_sentence(reply), (_NLX, _EVIL, _OWN)),
    "q2a": _vcr(Q2A, _q2a, lambda reply, question: read_letter(reply, question.choices), (_EVIL, _OWN, _NLX)),
    "qa2r": _vcr(
        QA2R, _qa2r, lambda reply, question: read_reason(reply, question.choices), (_OWN, _EVIL, _NLX), published=False
    ),
    "q2ar": _vcr(
        Q2AR,
        _q2ar,
        lambda reply, question: read_two_letters(reply, question.choices, question.extra["reasons"]),
        (_OWN, _EVIL, _NLX),
        metrics=(Metric("q2a", _half(0), "the answer's letter"), Metric("qa2r", _half(2), "the rationale's letter")),
        published=False,
    ),
}
"""The datasets by mode; forms of files are in order of how much they have of what the mode needs."""


def benchmark(options: ExplainSettings) -> Benchmark:
    return declared(options, VCR_TASKS[options.vcr_mode])
