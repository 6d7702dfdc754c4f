"""`vqa-client ask`: your own questions; a dry run shows the first ones, --to writes their columns as a benchmark."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.streams import EXIT_OK, emit_lines, say
from vqa_client.errors import DataError, QuestionFailed
from vqa_client.images.facts import facts
from vqa_client.runs.plans import make_plans
from vqa_client.settings.declared import AskSettings
from vqa_client.tables.inside import open_image, short_name
from vqa_client.tables.pictures import is_address, url_of
from vqa_client.tasks.registry import with_data
from vqa_client.types import Content


def ask(data: Path, /, settings: AskSettings) -> int:
    """Ask the questions, or write the benchmark file that --to names."""
    settings = replace(settings, data=data)
    if settings.to is not None:
        from vqa_client.tasks.ask.benchmark import write_benchmark

        fetched, _ = with_data(settings, say)
        assert isinstance(fetched, AskSettings)
        write_benchmark(fetched, settings.to, url_of(data))
        emit_lines(str(settings.to))
        return EXIT_OK
    code = evaluate(settings)
    if settings.dry_run and settings.show and not settings.json:
        emit_lines(*(f"\n{text}" for text in _first_questions(settings)))
    return code


def _first_questions(settings: AskSettings) -> Iterator[str]:
    """The first questions as the model receives them, with images in brackets."""
    for plan in make_plans(settings, settings.config, None, lambda line: None):
        for question in islice(plan.loaded.questions, settings.show):
            references = f"   (right: {', '.join(question.references)})" if question.references else ""
            role = "[user] " if question.turns else ""
            messages = [f"[system] {system}"] if (system := plan.task.system_for(question)) else []
            for turn in question.turns:
                messages += [role + _content_text(question.images, turn.content), f"[assistant] {turn.reply}"]
            messages.append(role + _content_text(question.images, plan.task.content(question)))
            yield f"--- {question.id}{references}\n" + "\n".join(messages)


def _content_text(images: tuple[str, ...], content: Content) -> str:
    def image_text(number: int) -> str:
        name = images[number - 1]
        return f"[image {number}: {short_name(name)}{_size_text(name)}]"

    return "\n".join(part if isinstance(part, str) else image_text(part) for part in content)


def _size_text(name: str) -> str:
    """An image's size in pixels and bytes; "" for one at an address, which is not fetched for this."""
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
