"""`python -m reader`: serve until stopped."""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import uvicorn

from reader.app import create_app
from reader.ocr import NoLanguageData, language_data
from reader.readings import Readings

PARENT_LOOK_S = 0.5
REQUESTS_GRACE_S = 2
LIMIT_IMAGES = 999  # vLLM's own default


class AnnouncingServer(uvicorn.Server):
    """A uvicorn server that prints its address on stdout as soon as it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, then print the line with the address."""
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            print(f"listening on http://{host}:{port}", flush=True)


def main() -> int:
    """Serve and return the exit status."""
    options = _options()
    try:
        language_data()
        bound = socket.create_server((options.host, options.port))
    except (NoLanguageData, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.exit_with_parent is not None:
        _watch(options.exit_with_parent or os.getppid())
    app = create_app(Readings(workers=options.workers, folder=options.cache_dir), limit_images=options.limit_images)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=REQUESTS_GRACE_S)
    server = AnnouncingServer(config)
    try:
        server.run(sockets=[bound])
    except KeyboardInterrupt:  # uvicorn raises the signal again after its orderly shutdown
        return 130
    return 0 if server.started else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="reader", description="Reads page images with Tesseract, OpenAI-compatible.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one and names it on stdout")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that read pages")
    parser.add_argument("--cache-dir", type=Path, help="folder that keeps the texts of pages between runs")
    parser.add_argument("--limit-images", type=int, default=LIMIT_IMAGES, help="most images in one request")
    text = "stop when the process with this id ends (without a value: the process that started the server)"
    parser.add_argument("--exit-with-parent", type=int, nargs="?", const=0, metavar="PID", help=text)
    return parser.parse_args()


def _watch(parent: int) -> None:
    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_LOOK_S)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
