"""A benchmark in the engine: a record of pure functions, and its questions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct

from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer, Choosing, Content, Note, Question, Score, Turn

Shot = tuple[Question, str]
"""A worked example: a question and the reply to it."""

Item = TypeVar("Item")


class Breakdown(Struct, frozen=True):
    """A field of the questions' groups that scores are broken down by.

    `order` is the order of its values; with `steps` they are steps on an axis, so that a chart can join them by a line.
    """

    field: str
    order: tuple[str, ...] = ()
    crossed_with: str = ""
    steps: bool = False


class Pages(Struct, frozen=True):
    """The pages of documents: PDF pages are drawn at `dpi`, and at most the first `most` pages are shown."""

    dpi: int = 144
    most: int | None = None


class Description(Struct, frozen=True, kw_only=True):
    """The part of a benchmark's declaration in a run file, to show its runs where the benchmark isn't installed.

    `metrics` and `totals` have the meaning of each figure. `headline` is the metric of the scores, `measure` its name
    in words, `leading_total` the total that is the headline, if any. `points` has the highest value of each total that
    isn't a share. The other fields are those of the declaration.
    """

    headline: str
    measure: str = "accuracy"
    metrics: dict[str, str] = {}
    totals: dict[str, str] = {}
    leading_total: str = ""
    points: dict[str, float] = {}
    breakdowns: tuple[Breakdown, ...] = ()
    unit: str = "image"
    question_type: str = ""
    compares_answers: bool = True

    def order(self, field: str) -> tuple[str, ...]:
        """The order of a field's values, empty where the declaration has none."""
        if field in ("variant", "corruption", "level"):
            return ("clean",)
        return next((breakdown.order for breakdown in self.breakdowns if breakdown.field == field), ())


class Task(Struct, frozen=True, kw_only=True):
    """The functions of one benchmark.

    `scoring` has everything that `parse` and `score` depend on (parser, flags, a version): records with another
    `scoring` are parsed and scored again without a new request. `headline` is the metric of the score's value.
    `choosing` is set where answers aren't read from free text.

    With `names_model` another model name in a reply ends the run. `content` returns a prompt's parts in order, `prompt`
    its text in records, and `check` raises DataError for a question with a mark of an image that it doesn't have.
    `system` is the system message of all questions, unless `system_of` returns each question's own. `shots` returns the
    worked examples of a question, and `parameters` are set in every request.
    """

    name: str
    content: Callable[[Question], Content]
    prompt: Callable[[Question], str]
    parse: Callable[[Reply, Question], Answer]
    score: Callable[[Answer, Reply, Question], Score]
    scoring: dict[str, str]
    headline: str
    check: Callable[[Question], None] | None
    system: str
    system_of: Callable[[Question], str] | None
    shots: Callable[[Question], tuple[Shot, ...]] | None = None
    parameters: dict[str, Any]
    choosing: Choosing | None = None
    names_model: bool
    description: Description

    def system_for(self, question: Question) -> str:
        """The system message of a question, or ""."""
        return self.system if self.system_of is None else self.system_of(question)


def visible(content: Content, turns: Sequence[Turn] = ()) -> str:
    """The text of a prompt, after its earlier turns.

    Images are `<image k>`. Without turns the images are left out where all are before the text, or all after it.
    """
    if turns:
        earlier = ((_marked(turn.content), turn.reply) for turn in turns)
        return "".join(f"User: {text}\nAssistant: {reply}\n" for text, reply in earlier) + f"User: {_marked(content)}"
    images, texts = tuple(range(1, len(content))), [part for part in content if isinstance(part, str)]
    if len(texts) == 1 and images in (content[:-1], content[1:]):
        return texts[0]
    return _marked(content)


def _marked(content: Content) -> str:
    return "".join(part if isinstance(part, str) else f"<image {part}>" for part in content)


class Walk(Struct, Generic[Item], frozen=True):
    """An iterable for many walks; each walk calls `start`."""

    start: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.start()


class Loaded(Struct, frozen=True, kw_only=True):
    """The questions of one data file and one page folder, built again on each walk over `questions`.

    `count` is their number, known before the walk. `left_out` maps a reason ("no_images", "blacklisted", ...) to the
    ids of instances that are not asked and in no total. `data_sha256` is the digest of the data file. `notes` are
    facts about the data that a reader of the report needs.
    """

    questions: Iterable[Question]
    count: int
    left_out: dict[str, tuple[str, ...]] = {}
    data_sha256: str = ""
    notes: tuple[str, ...] = ()


class Part(Struct, frozen=True, kw_only=True):
    """Questions with their own log and report, such as those of one page folder; paths are as given.

    `gate` has questions that are asked before the others, in the same log: the benchmark's `gate` may end the run
    after them. `identity` has the settings of this part that change what is asked.
    """

    name: str = ""
    loaded: Loaded
    data_path: Path
    images_dir: Path | None = None
    missing_pages: Mapping[str, tuple[int, ...]] = {}
    gate: Loaded | None = None
    identity: Mapping[str, Any] = {}


class Source(Struct, frozen=True, kw_only=True):
    """The arguments of a benchmark's `load`: the command's settings, and `notify`, which takes a line for people.

    When a finished run is read again, `finds_images` is off: no image is looked for, and no image is missing.
    """

    settings: Any
    notify: Note = lambda _: None
    finds_images: bool = True
