"""`vqa-client compare`: is one run better than another, by how much, and on which questions."""

from pathlib import Path

from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json, say
from vqa_client.cli.tables import as_text
from vqa_client.compare.content import content
from vqa_client.compare.sections import sections
from vqa_client.compare.write import PAGE_NAME, compare_runs, write_comparison
from vqa_client.settings.reports import CompareSettings
from vqa_client.shipped import install


def compare(settings: CompareSettings) -> int:
    """Compare, write and print; 1 where some of the questions have no reply, which count as wrong."""
    sides, compared = compare_runs(settings.runs)
    paths: tuple[Path, ...] = ()
    if settings.output:
        paths = write_comparison(
            settings.output, sides, compared, html_images=settings.html_images, csv_safe=settings.csv_safe
        )
        if PAGE_NAME not in {path.name for path in paths}:
            say(f"without {PAGE_NAME}: {install('html')} adds it")
    if settings.json:
        emit_json(content(sides, compared))
    else:
        emit(as_text(sections(compared, list(map(str, paths)))))
    failed = any(not kept.answered for _, matched in compared for pair in matched.pairs for kept in (pair.a, pair.b))
    return EXIT_FAILED_QUESTIONS if failed else EXIT_OK
