"""The command line: flags in, one call, text out."""

import sys
from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from vqa_client import __version__
from vqa_client.cli.exits import EXIT_OK, EXIT_SERVER, EXIT_USAGE
from vqa_client.cli.streams import prepare_streams, say
from vqa_client.errors import ServerUnusable, VqaClientError
from vqa_client.settings import DemoSettings, McSettings, NiahSettings

app = App(
    name="vqa-client",
    version=__version__,
    help_format="plaintext",
    help="Ask vision-language models questions about images, and say exactly how good the answers are.",
)
_DEMO = DemoSettings()


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
def demo(settings: Annotated[DemoSettings, Parameter(name="*")] = _DEMO) -> int:
    """Start the page reader, a local OCR server, and run niah and mc on the sample pages."""
    from vqa_client.cli import demo as sample

    return sample.demo(settings)


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
