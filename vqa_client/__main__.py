"""`python -m vqa_client`, and where the program `vqa-client` begins."""

import signal
import sys
from contextlib import nullcontext


def entry() -> None:
    """Load the command line and call it; Ctrl-C while it loads ends in silence, since nothing has begun."""
    try:
        from vqa_client.cli.help_pages import page_of

        page = page_of(sys.argv[1:])
        if page is not None and page.show():
            return
        from vqa_client.cli.main import main
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # else a second one is a traceback
        raise SystemExit(130) from None
    with page.keeping() if page else nullcontext():
        main()


if __name__ == "__main__":
    entry()
