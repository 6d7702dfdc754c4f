"""`vqa-client ask`: one's own questions, their first ones shown by a dry run, or their columns as a benchmark file."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.streams import EXIT_OK, emit, safe, say
from vqa_client.errors import DataError, QuestionFailed
from vqa_client.images.facts import facts
from vqa_client.runs.plans import make_plans
from vqa_client.settings.declared import AskSettings
from vqa_client.tables.inside import open_image, short_name
from vqa_client.tables.pictures import is_address, url_of
from vqa_client.tasks.registry import with_data
from vqa_client.types import Content


def ask(data: Path, /, settings: AskSettings) -> int:
    """Ask, or write the benchmark file that --to names."""
    settings = replace(settings, data=data)
    if settings.to is not None:
        from vqa_client.tasks.ask.benchmark import write_benchmark

        fetched, _ = with_data(settings, say)
        assert isinstance(fetched, AskSettings)
        write_benchmark(fetched, settings.to, url_of(data))
        emit(f"{safe(str(settings.to))}\n")
        return EXIT_OK
    if settings.prompt and "{" not in settings.prompt:
        say("warning: --prompt has no {question} and no other {column}: the same words are sent for every row")
    code = evaluate(settings)
    if settings.dry_run and settings.show and not settings.json:
        emit("".join(f"\n{safe(line)}\n" for line in _first_questions(settings)))
    return code


def _first_questions(settings: AskSettings) -> Iterator[str]:
    """The first questions as the model gets them, with images in brackets."""
    for plan in make_plans(settings, settings.config, None, lambda line: None):
        for question in islice(plan.loaded.questions, settings.show):
            right = f"   (right: {', '.join(question.references)})" if question.references else ""
            who = "[user] " if question.turns else ""
            messages = [f"[system] {system}"] if (system := plan.task.system_for(question)) else []
            for turn in question.turns:
                messages += [who + _content_text(question.images, turn.content), f"[assistant] {turn.reply}"]
            messages.append(who + _content_text(question.images, plan.task.content(question)))
            yield f"--- {question.id}{right}\n" + "\n".join(messages)


def _content_text(images: tuple[str, ...], content: Content) -> str:
    return "\n".join(part if isinstance(part, str) else _image(images, part) for part in content)


def _image(images: tuple[str, ...], number: int) -> str:
    return f"[image {number}: {short_name(images[number - 1])}{_size(images[number - 1])}]"


def _size(name: str) -> str:
    """An image's pixels and bytes, for people; what is at an address isn't fetched for it."""
    if is_address(name):
        return ""
    try:
        with open_image(name) as file:
            data = file.read()
        image = facts(data)
    except (OSError, ValueError, DataError, QuestionFailed):
        return ", which can't be read"
    pixels = f" {image.width}x{image.height}," if image.width else ","
    return f"{pixels} {len(data) / 1000:,.1f} KB"
