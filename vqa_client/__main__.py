"""`python -m vqa_client`, and where the program `vqa-client` begins."""

import _signal as signals  # type: ignore[import-not-found]  # `signal` itself takes milliseconds to import


def entry() -> None:
    """Load the command line and run it; while it loads, Ctrl-C ends the program without a traceback."""
    raises_interrupt = signals.getsignal(signals.SIGINT) is signals.default_int_handler
    if raises_interrupt:
        signals.signal(signals.SIGINT, signals.SIG_DFL)
    from vqa_client.cli.main import main

    if raises_interrupt:
        signals.signal(signals.SIGINT, signals.default_int_handler)
    main()


if __name__ == "__main__":
    entry()
