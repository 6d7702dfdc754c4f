"""`vqa-client view` and `label`: serve pages on this machine until Ctrl-C."""

import signal
from dataclasses import replace
from pathlib import Path

from vqa_client.cli.streams import emit, say
from vqa_client.compare.write import comparison_page
from vqa_client.html.serving import ReportServer, ServedPages
from vqa_client.html.viewer import Viewer
from vqa_client.judge.benchmark import for_people, only_run
from vqa_client.judge.beside import judges_of
from vqa_client.judge.labelling import Labelling
from vqa_client.judge.loading import JudgedRun
from vqa_client.judge.people import write_sheet
from vqa_client.reports.log_reader import file_beside
from vqa_client.settings.judge import JudgeSettings, LabelSettings
from vqa_client.settings.reports import ViewSettings


def view(settings: ViewSettings) -> None:
    """Serve the pages of runs until Ctrl-C."""
    pages = Viewer(settings.run, comparison_page)
    serve(pages, settings.port, "the page follows the run. Ctrl-C ends the server, not the run")


def serve(pages: ServedPages, port: int, sentence: str) -> None:
    """Serve pages until Ctrl-C; prints only the address to standard output, and `sentence` to standard error."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets background programs ignore it
    with ReportServer(pages, port) as server:
        emit(f"{server.address}\n")
        say(f"open this address; {sentence}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")


def label(results: Path, /, settings: LabelSettings) -> None:
    """Write the sheet if there is none, and serve the labelling page until Ctrl-C."""
    settings = replace(settings, results=results)
    judged = only_run(JudgeSettings(results=settings.results, kind=settings.kind, seed=settings.seed, check=False))
    log = judged.results
    sheet = settings.labels or file_beside(log, ".labels.csv")
    judged = for_people(judged, sheet if sheet.exists() else None)
    assert judged.kind is not None
    run = JudgedRun(judged, judged.kind)
    if not sheet.exists():
        judges = judges_of(run, judged)
        write_sheet(sheet, run, judges[-1] if judges else None, settings.number)
    labelling = Labelling(run, sheet, settings.name)
    say(_progress_text(labelling))
    serve(labelling, settings.port, "keys label a reply, and each label is saved at once. Ctrl-C ends the server")
    say(f"{_progress_text(labelling)}; vqa-client judge {log} --labels {sheet} --kind {run.kind}")


def _progress_text(labelling: Labelling) -> str:
    labels = labelling.labels()
    return f"{sum(map(bool, labels)):,} of {len(labels):,} labelled in {labelling.sheet}"
