"""The page on which a person labels drawn replies: it shows question, reference and reply, and no verdict."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.html.data import LONGEST_TEXT, facts_of, shortened
from vqa_client.html.page import label_page
from vqa_client.html.shown_images import FEW, ServedImages
from vqa_client.html.viewer import HTML, NOT_THERE, HttpReply, image_reply, reply_or_error
from vqa_client.judge.kinds import label_and_text
from vqa_client.judge.loading import JudgedRun, reply_text
from vqa_client.judge.people import LABELS, key_of, labels_for, put_label, read_sheet
from vqa_client.log_lines import Key
from vqa_client.own_code import text_of
from vqa_client.prompt import choices_text
from vqa_client.reports.logged_run import read_run
from vqa_client.types import Question, Record

COLUMNS = ("id", "variant", "question", "choices", "reference", "reply", "rubric", "images", "needle", "cut_pages")


class SentLabel(Struct, frozen=True, kw_only=True):
    """A label that the page sends, with the number of its row on the page."""

    row: int
    label: str


class Labelling:
    """Shows the rows of a sheet, and saves each label at once in one person's column.

    Raises DataError for a sheet that can't be read, or that was drawn from another run.
    """

    def __init__(self, run: JudgedRun, sheet: Path, name: str) -> None:
        self.sheet, self.name, self.column = sheet, name, f"label_{name}" if name else "label"
        self._keys = list(dict.fromkeys(map(key_of, read_sheet(sheet))))
        self._run, self._task, self._words = run, run.run.benchmark.name, labels_for(run)
        self._images = ServedImages(read_run(run.log))
        self._pictures: list[str] = []
        self._facts: list[list[Any]] = []
        keys = set(self._keys)
        rows = {record.key: self._row(question, record) for question, record in run.all_records() if record.key in keys}
        if missing := [key for key in self._keys if key not in rows]:
            raise DataError(
                f"{sheet} has the question {' '.join(missing[0]).strip()!r}, and the run doesn't",
                hint="give the sheet that was drawn from this run, or another --labels",
            )
        self._rows = [rows[key] for key in self._keys]

    def labels(self) -> list[str]:
        """This person's label of every row, "" if missing."""
        by_key: dict[Key, str] = {key_of(row): row.get(self.column, "") for row in read_sheet(self.sheet)}
        return [by_key.get(key, "").strip() for key in self._keys]

    def answer(self, path: str) -> HttpReply:
        """The reply to "", "image/3" or "thumbnail/3"."""
        if path != "":
            return reply_or_error(lambda: image_reply(self._images, path))
        return reply_or_error(lambda: HttpReply(kind=HTML, body=self._page()))

    def take(self, path: str, body: bytes) -> HttpReply:
        """Save a label that is sent to "label"."""
        return reply_or_error(lambda: self._save(body)) if path == "label" else NOT_THERE

    def _save(self, body: bytes) -> HttpReply:
        request = msgspec.json.decode(body, type=SentLabel)
        if request.row < 0 or request.label not in ("", *self._words):
            return NOT_THERE
        put_label(self.sheet, self._keys[request.row], self.column, request.label)
        return HttpReply()

    def _page(self) -> bytes:
        images = {"images": self._facts, "strings": self._pictures}
        content = {"columns": COLUMNS, "rows": self._rows, "labels": self.labels(), **images}
        title = f"{self._task} · labels{f' by {self.name}' if self.name else ''}"
        return label_page(title, self.sheet, content, keys_for(self._words))

    def _row(self, question: Question, record: Record) -> list[Any]:
        first = len(self._facts)
        for image in record.images:
            file = self._images(image)
            self._facts.append(facts_of(image, file, len(self._pictures)))
            self._pictures.append(file.href if len(record.images) <= FEW else file.picture)
        rubric = text_of(self._run.rubric, question, "the rubric")
        references = " / ".join(label_and_text(reference, question) for reference in question.references)
        texts = [question.text, choices_text(question.choices), references]
        return [
            *record.key,
            *(shortened(text, LONGEST_TEXT) for text in (*texts, reply_text(record), rubric)),
            list(range(first, len(self._facts))),
            None,
            record.truncated_pages,
        ]


def keys_for(labels: tuple[str, ...]) -> dict[str, str]:
    """The key of each label: the digit of a grade, else the label's place; "" for grades above ten."""
    if labels == tuple(LABELS):
        return {label: str(number) for number, label in enumerate(labels, 1)}
    return {label: label if len(label) == 1 else {"10": "t", "unclear": "u"}.get(label, "") for label in labels}
