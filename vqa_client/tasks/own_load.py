"""The parts that a benchmark's `load` returns, checked where it isn't one of this package."""

from collections.abc import Iterable

from vqa_client.benchmark import Benchmark
from vqa_client.errors import DataError, UsageError
from vqa_client.own_code import check_fields, place_of, shown
from vqa_client.tables.loading import check_question
from vqa_client.task import Loaded, Part, Source

_PARTS = "return a list of Part(loaded=Loaded(questions=..., count=...), data_path=...)"


def parts_of(benchmark: Benchmark, source: Source) -> list[Part]:
    """The parts of a benchmark's data.

    Raises UsageError if they have a wrong type or if there are none, and DataError if questions of one's own are wrong,
    share an id or are of another number than the part says.
    """
    made, where = benchmark.load(source), place_of(benchmark.load)
    place = f"{benchmark.name}: load{where}"
    parts = [*made] if isinstance(made, Iterable) else [made]
    if not parts:
        raise UsageError(f"{benchmark.name} loads no part of its data", hint="its load gives one Part or more")
    for part in parts:
        if not isinstance(part, Part):
            raise UsageError(f"{place} returns {shown(part)}", hint=_PARTS)
        try:
            check_fields(part, "Part")
        except TypeError as error:
            raise UsageError(f"{place}: {error}", hint=_PARTS) from None
        for loaded in (part.loaded, part.gate) if where else ():
            if loaded is not None:
                _check_loaded(loaded, place)
    return parts


def _check_loaded(loaded: Loaded, place: str) -> None:
    if iter(loaded.questions) is loaded.questions:
        raise UsageError(f"{place}: its questions can be walked over only once", hint="give a list of questions")
    keys, count = set[int](), 0
    for question in loaded.questions:
        try:
            check_question(question, None)
        except ValueError as error:
            raise DataError(f"{place}: question {count + 1}: {error}", hint="Question(id='...', text='...')") from None
        if hash(question.key) in keys:
            raise DataError(f"{place}: two questions have the id {question.id!r}", hint="an id names one question")
        keys.add(hash(question.key))
        count += 1
    if count != loaded.count:
        raise DataError(f"{place}: the count is {loaded.count:,}, and it gives {count:,}", hint="correct the count")
