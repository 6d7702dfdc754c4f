"""`vqa-client view`: a run's page on this machine, which follows the run while it goes on."""

import signal

from vqa_client.cli.exits import EXIT_OK
from vqa_client.cli.streams import emit, say
from vqa_client.compare.write import comparison_page
from vqa_client.html.serving import Pages, ReportServer
from vqa_client.html.viewer import Viewer
from vqa_client.settings.reports import ViewSettings


def view(settings: ViewSettings) -> int:
    """Serve until Ctrl-C."""
    pages = Viewer(settings.run, comparison_page)
    serve(pages, settings.port, "the page follows the run. Ctrl-C ends the server, not the run")
    return EXIT_OK


def serve(pages: Pages, port: int, said: str) -> None:
    """Serve until Ctrl-C; the address is printed alone, for programs, and said to whoever watches."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs behind
    with ReportServer(pages, port) as server:
        emit(f"{server.address}\n")
        say(f"open this address; {said}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")
