"""The command line: flags in, one call, text out."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated

from cyclopts import App, Parameter

from vqa_client import __version__
from vqa_client.cli.exits import EXIT_OK, EXIT_SERVER, EXIT_USAGE
from vqa_client.cli.robustness.commands import robustness
from vqa_client.cli.streams import prepare_streams, say
from vqa_client.errors import ServerUnusable, VqaClientError
from vqa_client.settings import (
    CheckSettings,
    DemoSettings,
    ExplainSettings,
    LegibilitySettings,
    McSettings,
    NeedlesSettings,
    NiahSettings,
    PagesPreviewSettings,
    PerturbSettings,
    RenderSettings,
    ReportSettings,
    ScoreExplanationsSettings,
    ScoreSettings,
    ServerName,
    ServeSettings,
    ViewSettings,
    Vqa2Settings,
)
from vqa_client.settings.compare import CompareSettings, ParseSettings, RescoreSettings

app = App(
    name="vqa-client",
    version=__version__,
    help_format="plaintext",
    help="Ask vision-language models questions about images, and say exactly how good the answers are.",
)
_CHECK = CheckSettings()
_DEMO = DemoSettings()
_SERVE = ServeSettings()
_VQA2 = Vqa2Settings()
_EXPLAIN = ExplainSettings()


@app.command
def mc(settings: Annotated[McSettings, Parameter(name="*")]) -> int:
    """Multiple choice on long documents as page images (LongBench-v2's form)."""
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)


@app.command
def niah(settings: Annotated[NiahSettings, Parameter(name="*")]) -> int:
    """Needle in a haystack: secrets hidden in documents that are shown as page images."""
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)


@app.command
def vqa2(settings: Annotated[Vqa2Settings, Parameter(name="*")] = _VQA2) -> int:
    """Open questions on photographs (VQA 2.0 on COCO), scored as the official evaluator does."""
    from vqa_client.cli.evaluate import evaluate
    from vqa_client.cli.vqa2_table import as_vqa2_tables

    return evaluate(settings, partial(as_vqa2_tables, verbose=settings.verbose))


@app.command
def explain(settings: Annotated[ExplainSettings, Parameter(name="*")] = _EXPLAIN) -> int:
    """Answers with explanations: VQA-X, ACT-X, e-SNLI-VE and VCR."""
    from vqa_client.cli.evaluate import evaluate
    from vqa_client.cli.explain_table import as_explain_tables

    return evaluate(settings, as_explain_tables)


@app.command
def render(settings: Annotated[RenderSettings, Parameter(name="*")]) -> int:
    """Draw documents as page images: a data file's contexts, or the text files of a folder."""
    from vqa_client.cli import render as drawing

    return drawing.render(settings)


@app.command
def serve(server: ServerName, /, settings: Annotated[ServeSettings, Parameter(name="*")] = _SERVE) -> int:
    """Start vLLM, mlx-vlm or the page reader with the settings of a model's config, and stop it on Ctrl-C."""
    from vqa_client.cli import serve as serving

    return serving.serve(server, settings)


@app.command
def check(settings: Annotated[CheckSettings, Parameter(name="*")] = _CHECK) -> int:
    """Can a server be trusted? Whether it sees images and keeps answers apart, and what it ignores; ten seconds."""
    from vqa_client.cli import check as checking

    return checking.check(settings)


@app.command
def demo(settings: Annotated[DemoSettings, Parameter(name="*")] = _DEMO) -> int:
    """Start the page reader, a local OCR server, and run niah and mc on the sample pages."""
    from vqa_client.cli import demo as sample

    return sample.demo(settings)


@app.command
def score(settings: Annotated[ScoreSettings, Parameter(name="*")]) -> int:
    """Score answers that lie in a file against VQA annotations, by any metric; no server is needed."""
    from vqa_client.cli import score as scoring

    return scoring.score(settings)


@app.command
def score_explanations(settings: Annotated[ScoreExplanationsSettings, Parameter(name="*")]) -> int:
    """Score explanations that lie in a file against those of people; no server is needed."""
    from vqa_client.cli import score_explanations as scoring

    return scoring.score_explanations(settings)


@app.command
def compare(settings: Annotated[CompareSettings, Parameter(name="*")]) -> int:
    """Say whether one run is better than another over the same questions, how surely, and on which questions."""
    from vqa_client.cli import compare as comparing

    return comparing.compare(settings)


@app.command
def parse(settings: Annotated[ParseSettings, Parameter(name="*")]) -> int:
    """Show why an answer of a run was read as it was."""
    from vqa_client.cli import parse as explaining

    return explaining.parse(settings)


@app.command
def rescore(settings: Annotated[RescoreSettings, Parameter(name="*")]) -> int:
    """Read and score the kept replies of a run as today's parser and scorer do, without asking."""
    from vqa_client.cli import rescore as scoring

    return scoring.rescore(settings)


@app.command
def report(settings: Annotated[ReportSettings, Parameter(name="*")]) -> int:
    """Make a run's HTML page from its record log, or its tables as CSV, JSON, Parquet and Markdown."""
    from vqa_client.cli import report as reporting

    return reporting.report(settings)


@app.command
def view(settings: Annotated[ViewSettings, Parameter(name="*")]) -> int:
    """Serve a run's page on this machine alone; it follows a run that is still going."""
    from vqa_client.cli import view as viewing

    return viewing.view(settings)


@app.command
def needles(settings: Annotated[NeedlesSettings, Parameter(name="*")]) -> int:
    """Hide secrets in documents, and write the questions that ask for them."""
    from vqa_client.cli import needles as hiding

    return hiding.needles(settings)


@app.command
def perturb(settings: Annotated[PerturbSettings, Parameter(name="*")]) -> int:
    """Damage page images: lower resolutions, compression, noise, blur, smaller type; a folder for each."""
    from vqa_client.cli import perturb as damaging

    return damaging.perturb(settings)


@app.command
def pages_preview(settings: Annotated[PagesPreviewSettings, Parameter(name="*")]) -> int:
    """Draw a contact sheet: pages beside their perturbed forms, as a model sees them."""
    from vqa_client.cli import pages_preview as preview

    return preview.pages_preview(settings)


@app.command
def legibility(settings: Annotated[LegibilitySettings, Parameter(name="*")]) -> int:
    """Say how many of the documents' words an OCR reader finds on their pages."""
    from vqa_client.cli.legibility import show_legibility

    return show_legibility(settings)


app.command(robustness)


def main() -> None:
    """Run the command and exit with its code: 0, 1 failed questions, 2 usage or data, 3 server, 130 interrupted."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """The exit code of a command line; every expected error ends as one line and its hint."""
    prepare_streams()
    return _guarded(lambda: int(app(arguments, result_action="return_value") or EXIT_OK))


def _guarded(command: Callable[[], int]) -> int:
    try:
        return command()
    except ServerUnusable as error:
        return _complain(error, EXIT_SERVER)
    except VqaClientError as error:
        return _complain(error, EXIT_USAGE)
    except KeyboardInterrupt:
        say("stopped")
        return 130


def _complain(error: VqaClientError, code: int) -> int:
    for line in f"error: {error}".split("\n"):
        say(line)
    if error.hint:
        say(f"hint: {error.hint}")
    return code
