"""VCR's records in the three forms they are handed round in: NLX-GPT's, e-ViL's, and the benchmark's own annotation."""

from typing import Any

from vqa_client.tasks.explain.nle_files import NleRow

Spoken = str | list[str | int | list[int]] | None
"""A sentence, or its tokens, where a list of numbers stands for the people and things it names."""


class VcrRow(NleRow, frozen=True, kw_only=True):
    """One question on a film still.

    NLX-GPT's form has `answers` (the right one) and no choices; e-ViL's has `answer_choices` and the right explanation
    without wrong ones; the benchmark's own has `rationale_choices` too.
    """

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

    def asked(self) -> str:
        return self._said(self.sent if self.sent else self.question)

    def choices(self) -> list[str]:
        """The answers to choose from; none in NLX-GPT's form."""
        return [self._said(each) for each in self.answer_choices or ()]

    def right_choice(self) -> int | None:
        """The place of the right answer, None where it is not known."""
        return _place(self.label if self.label is not None else self.answer_label, self.answer_choices)

    def answer(self) -> str:
        """The text of the right answer, or ""."""
        place = self.right_choice()
        if place is not None:
            return self.choices()[place]
        return self.answers.strip() if isinstance(self.answers, str) else ""

    def reasons(self) -> list[str]:
        """The rationales to choose from."""
        return [self._said(each) for each in self.rationale_choices or ()]

    def right_reason(self) -> int | None:
        """The place of the right rationale, None where it is not known."""
        return _place(self.rationale_label, self.rationale_choices)

    def all_explanations(self) -> tuple[str, ...]:
        """The explanations of people, the right rationale where there is nothing else."""
        place = self.right_reason()
        return self.gold_explanations() or ((self.reasons()[place],) if place is not None else ())

    def image(self) -> str:
        """The image's path below vcr1images/."""
        by_features = (self.img_id or "").replace(".npz", ".jpg")
        name = self.img_name or self.raw_img_id or self.raw_img or self.img_fn or by_features
        return name.lstrip("/").removeprefix("vcr1images/")

    def _said(self, spoken: Spoken) -> str:
        if spoken is None or isinstance(spoken, str):
            return (spoken or "").strip()
        return " ".join(self._token(token) for token in spoken)

    def _token(self, token: str | int | list[int]) -> str:
        """Name people and things as NLX-GPT does: "person0 and person2"."""
        if isinstance(token, str):
            return token
        places = [token] if isinstance(token, int) else token
        kinds = self.objects
        return " and ".join(f"{kinds[at] if 0 <= at < len(kinds) else 'object'}{at}" for at in places)


def _place(label: int | None, choices: list[Spoken] | None) -> int | None:
    return label if label is not None and choices and 0 <= label < len(choices) else None
