"""A benchmark held against its own references: with each question's ideal reply, every score has to be 1."""

from msgspec import Struct

from vqa_client.runner import judge
from vqa_client.settings.run import RunSettings
from vqa_client.tasks.registry import open_benchmark
from vqa_client.types import Completion


class Fault(Struct, frozen=True, kw_only=True):
    """A question whose own reference isn't right by its own rules."""

    question_id: str
    reply: str
    reason: str


class Tested(Struct, frozen=True, kw_only=True):
    """How many questions were tested, and those that failed."""

    total: int
    faults: tuple[Fault, ...]


def selftest(settings: RunSettings) -> Tested:
    """Load the data and score every question's ideal reply; needs no server and no image."""
    tested = open_benchmark(settings)
    total, faults = 0, list[Fault]()
    for part in tested.parts(finds_images=False):
        for question in part.loaded.questions:
            total += 1
            reply = tested.benchmark.ideal_reply(question)
            answer, score = judge(Completion(text=reply, finish_reason="stop"), question, tested.task)
            low = [
                f"{name} is {value:g}" for name, value in score.parts.items() if value < 1 and not name.startswith("n_")
            ]
            if answer.status != "ok":
                low.insert(0, f"the reply is {answer.status}")
            if low:
                faults.append(Fault(question_id=question.id, reply=reply, reason=", ".join(low)))
    return Tested(total=total, faults=tuple(faults))
