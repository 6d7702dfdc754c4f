"""`python -m vqa_client`, and where the program `vqa-client` begins."""

import sys


def entry() -> None:
    """Load the command line and run it.

    Everything is imported inside the `try`, so that Ctrl-C ends the program without a traceback from the start on.
    """
    try:
        from contextlib import nullcontext

        from vqa_client.cli.help_pages import page_of

        page = page_of(sys.argv[1:])
        if page is not None and page.show():
            return
        from vqa_client.cli.main import main

        with page.keeping() if page else nullcontext():
            main()
    except KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would be a traceback
        raise SystemExit(130) from None


if __name__ == "__main__":
    entry()
