"""The command line: flags in, one call, text out."""

import sys
from collections.abc import Callable

from cyclopts import App, CycloptsError

from vqa_client.cli.exits import EXIT_OK, EXIT_SERVER, EXIT_USAGE
from vqa_client.cli.streams import prepare_streams, say
from vqa_client.errors import ServerUnusable, VqaClientError
from vqa_client.shipped import __version__

COMMANDS = {
    "benchmarks": {
        "run": "Ask a benchmark by its name, or by the path of a file; NAME --help shows its options.",
        "list_benchmarks": "List the benchmarks that `run` knows.",
        "selftest": "Score a benchmark's own references as replies; every score must be 1. Needs no server.",
        "ask": "Ask your own questions: CSV, TSV, JSON, Parquet, tar, or a folder of images; columns are detected.",
        "suite": "Ask several benchmarks one after the other, and put their results into one table.",
        "mc": "Multiple choice on long documents as page images (LongBench-v2's form).",
        "niah": "Needle in a haystack: secrets hidden in documents that are shown as page images.",
        "vqa2": "Open questions on photographs (VQA 2.0 on COCO), scored as the official evaluator does.",
        "explain": "Answers with explanations: VQA-X, ACT-X, e-SNLI-VE and VCR.",
    },
    "documents": {
        "render": "Draw documents as page images: a data file's contexts, or the text files of a folder.",
        "needles": "Hide secrets in documents, and write the questions that ask for them.",
        "perturb": "Damage page images: lower resolutions, compression, noise, blur, smaller type; a folder for each.",
        "pages_preview": "Draw a contact sheet: pages beside their perturbed forms, as a model sees them.",
        "legibility": "Say how many of the documents' words an OCR reader finds on their pages.",
    },
    "servers": {
        "serve": "Start vLLM or mlx-vlm by a model's config, the tiny VLM or the page reader; stops on Ctrl-C.",
        "check": "Can a server be trusted? Whether it sees images and keeps answers apart, and what it ignores.",
        "demo": "Start the page reader, a local OCR server, and run niah and mc on the sample pages.",
    },
    "results": {
        "score": "Score answers from a file against VQA annotations, or as a benchmark does; needs no server.",
        "score_explanations": "Score explanations from a file against those of people; needs no server.",
        "compare": "Say whether one run is better than another, how surely, and on which questions.",
        "leaderboard": "Put finished runs into one table: models by benchmarks, with intervals and ranks.",
        "parse": "Show why an answer of a run was read as it was.",
        "judge": "Ask another model, or people, what a finished run's replies are worth, beside the benchmark's rule.",
        "rescore": "Read and score the kept replies of a run as today's parser and scorer do, without asking.",
        "merge": "Join the shards of runs in a folder: one log, run file and report each, as of an undivided run.",
        "report": "Make a run's HTML page from its record log, or its tables as CSV, JSON, Parquet and Markdown.",
        "view": "Serve a run's page on this machine alone; it follows a run that is still going.",
    },
}
"""Each command's help, by the module of cli/commands that has it; none is imported but the one that is called."""
OWN_HELP = ("run", "selftest", "score")
"""Commands that show a benchmark's own options."""
ROBUSTNESS = {
    "generate": "Make corrupted copies of a folder of images: fourteen corruptions at five levels, a folder for each.",
    "run": "Run a benchmark clean and under each corruption and level, made just before sending; nothing is written.",
    "evaluate": "Judge finished robustness runs together: five metrics, VRE, and each level against the clean images.",
    "plot": "Draw the figures of finished robustness runs, each as PNG and SVG.",
}

app = App(
    name="vqa-client",
    version=__version__,
    help_format="plaintext",
    help="Ask vision-language models questions about images, and say exactly how good the answers are.",
)
robustness = App(name="robustness", help="Corrupt images on purpose, and say what that does to a model's answers.")
for _module, _commands in COMMANDS.items():
    for _name, _help in _commands.items():
        _shown = "list" if _name == "list_benchmarks" else None
        _flags = [] if _name in OWN_HELP else ["--help", "-h"]
        app.command(f"vqa_client.cli.commands.{_module}:{_name}", name=_shown, help=_help, help_flags=_flags)
for _name, _help in ROBUSTNESS.items():
    _flags = [] if _name == "run" else ["--help", "-h"]  # run shows its benchmark's help, too
    robustness.command(f"vqa_client.cli.commands.robustness:{_name}", help=_help, help_flags=_flags)
app.command(robustness)


def main() -> None:
    """Run the command and exit with its code: 0, 1 failed questions, 2 usage or data, 3 server, 130 interrupted."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """The exit code of a command line; every expected error ends as one line and its hint."""
    prepare_streams()
    return _guarded(
        lambda: int(app(arguments, result_action="return_value", print_error=False, exit_on_error=False) or EXIT_OK)
    )


def _guarded(command: Callable[[], int]) -> int:
    try:
        return command()
    except ServerUnusable as error:
        return _complain(error, EXIT_SERVER)
    except VqaClientError as error:
        return _complain(error, EXIT_USAGE)
    except CycloptsError as error:
        from vqa_client.cli.command_line import usage_error

        return _complain(usage_error(error), EXIT_USAGE)
    except KeyboardInterrupt:
        say("stopped")
        return 130


def _complain(error: VqaClientError, code: int) -> int:
    for line in f"error: {error}".split("\n"):
        say(line)
    if error.hint:
        say(f"hint: {error.hint}")
    return code
