"""What a benchmark is to the engine: a record of pure functions, and its questions; it never sees a socket."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct

from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer, Choosing, Content, Question, Score, Turn

Shot = tuple[Question, str]
"""A worked example: a question and the reply to it."""

Item = TypeVar("Item")


class Breakdown(Struct, frozen=True):
    """A field of the questions' groups that scores are broken down by.

    `order` is that of its values; `steps` says that these lie along an axis, so that a line through them has a meaning.
    """

    field: str
    order: tuple[str, ...] = ()
    crossed_with: str = ""
    steps: bool = False


class Pages(Struct, frozen=True):
    """How documents are shown: PDF pages are drawn at `dpi`, and of each document the first `most` pages at most."""

    dpi: int = 144
    most: int | None = None


class Description(Struct, frozen=True, kw_only=True):
    """What a run file keeps of a benchmark's declaration, so that its runs are shown where it isn't installed.

    `metrics` and `totals` give what each figure says; `headline` is the metric that scores are of, `measure` the same
    in words; `leading_total` is the total that leads, where one does. `points` are the totals that aren't shares, with
    the most that each can be. The other fields are the declaration's.
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
        """The order of a field's values, empty where they have none of their own."""
        if field in ("variant", "corruption", "level"):
            return ("clean",)
        return next((each.order for each in self.breakdowns if each.field == field), ())


class Task(Struct, frozen=True, kw_only=True):
    """The functions of one benchmark.

    `scoring` names everything that `parse` and `score` depend on (parser, flags, a version): records made under
    another `scoring` are parsed and scored again without being asked again. `headline` says of what metric the
    score's value is. `choosing` says that answers aren't read from free text.

    With `names_model` a run is of one model by the name that its replies give: another name ends it.
    `content` gives a prompt's parts in order, and `check`, where there is one, raises DataError for a question that
    they don't fit. `system` is the system message of all questions, or `system_of` gives each one's; `shots` give the
    worked examples of a question, and `parameters` are set in every request.
    """

    name: str
    content: Callable[[Question], Content]
    parse: Callable[[Reply, Question], Answer]
    score: Callable[[Answer, Reply, Question], Score]
    scoring: dict[str, str]
    headline: str
    check: Callable[[Question], None] | None = None
    system: str = ""
    system_of: Callable[[Question], str] | None = None
    shots: Callable[[Question], tuple[Shot, ...]] | None = None
    parameters: dict[str, Any] = {}
    choosing: Choosing | None = None
    names_model: bool = False
    description: Description = Description(headline="")

    def prompt(self, question: Question) -> str:
        """The prompt's text as records show it."""
        return visible(self.content(question), question.turns)

    def system_for(self, question: Question) -> str:
        """The system message that a question is asked with, "" where there is none."""
        return self.system if self.system_of is None else self.system_of(question)


def visible(content: Content, turns: Sequence[Turn] = ()) -> str:
    """A prompt's text, after any earlier turns.

    Images are `<image k>`; without turns these are left out where all come before the text or all after it.
    """
    if turns:
        earlier = ((_marked(turn.content), turn.reply) for turn in turns)
        return "".join(f"User: {text}\nAssistant: {reply}\n" for text, reply in earlier) + f"User: {_marked(content)}"
    images = tuple(range(1, len(content)))
    if content[:-1] == images and isinstance(content[-1], str):
        return content[-1]
    if content[1:] == images and isinstance(content[0], str):
        return content[0]
    return _marked(content)


def _marked(content: Content) -> str:
    return "".join(part if isinstance(part, str) else f"<image {part}>" for part in content)


class Walk(Struct, Generic[Item], frozen=True):
    """What can be walked again and again; each walk calls `start`."""

    start: Callable[[], Iterator[Item]]

    def __iter__(self) -> Iterator[Item]:
        return self.start()


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


class Part(Struct, frozen=True, kw_only=True):
    """Questions with a log and a report of their own, such as those of one page folder; paths are as given.

    `gate` holds questions that are asked before the others, and kept in the same log: the benchmark's `gate` may refuse
    to go further. `identity` is what of this part decides what is asked.
    """

    name: str = ""
    loaded: Loaded
    data_path: Path
    images_dir: Path | None = None
    missing_pages: Mapping[str, tuple[int, ...]] = {}
    gate: Loaded | None = None
    identity: Mapping[str, Any] = {}


class Source(Struct, frozen=True, kw_only=True):
    """What a benchmark loads from: the command's settings, and `notify`, which takes a line for people.

    Where a finished run is read again, `finds_images` is off: no image is looked for, and none is missing.
    """

    settings: Any
    notify: Callable[[str], None] = lambda _: None
    finds_images: bool = True
