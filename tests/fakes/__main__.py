"""`python -m tests.fakes`: the fault server as a process.

When it serves, it prints one line of JSON with its base_url, origin, port and ca_file. It ends with its parent, on
SIGTERM or on SIGINT. GET /_fake/counts, /_fake/violations and /_fake/requests on its port return what it saw.
"""

import argparse
import json
import os
import signal
import sys
import threading

from tests.fakes.dialects import KINDS
from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import __all__ as words
from tests.fakes.words import script_of

PARENT_CHECK_S = 0.2


def script(text: str) -> Script:
    """A script from the command line; raises ArgumentTypeError."""
    try:
        return script_of(text if "(" in text else f"{text}()")
    except (NameError, SyntaxError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}; the words are {', '.join(sorted(words))}") from None


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fakes",
        description="An OpenAI-compatible server that follows a script of faults; tests/fakes/README.md has examples.",
        epilog=f"The words of a script: {', '.join(sorted(words))}.",
    )
    parser.add_argument(
        "--script", type=script, default="()", help="a word, or several composed: 'first_n(2, error(500))'"
    )
    kinds = "the kind of server whose refusals and fields it has (vllm)"
    parser.add_argument("--kind", default="vllm", choices=sorted(KINDS), help=kinds)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (any that is free)")
    parser.add_argument("--tls", action="store_true", help="serve https, with a certificate of its own")
    parser.add_argument("--start-after-s", type=float, default=0.0, help="refuse connections for the first seconds")
    parser.add_argument("--idle-close-s", type=float, default=None, help="close connections that are idle so long")
    parser.add_argument(
        "--model", action="append", dest="models", help="a served model's id, tiny-vlm; may be repeated"
    )
    parser.add_argument("--max-model-len", type=int, default=2048, help="the model's context in tokens (2048)")
    parser.add_argument("--no-parse", action="store_true", help="count the bytes of bodies, and don't read them")
    return parser.parse_args()


def main() -> None:
    """Serve until stopped."""
    given = arguments()
    try:
        _serve(given)
    except OSError as error:
        sys.exit(f"{given.host}:{given.port} can't be served at: {error.strerror}")


def _serve(given: argparse.Namespace) -> None:
    parent, stopping = os.getppid(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with FaultServer(
        given.script,
        kind=given.kind,
        host=given.host,
        port=given.port,
        tls=given.tls,
        start_after_s=given.start_after_s,
        idle_close_s=given.idle_close_s,
        models=tuple(given.models or ("tiny-vlm",)),
        max_model_len=given.max_model_len,
        keep_bodies=False,
        parse_bodies=not given.no_parse,
    ) as server:
        ca_file = server.ca_file if given.tls else None
        served = {"base_url": server.base_url, "origin": server.origin, "port": server.port, "ca_file": ca_file}
        print(json.dumps(served), flush=True)
        while not stopping.wait(PARENT_CHECK_S) and os.getppid() == parent:
            pass


if __name__ == "__main__":
    main()
