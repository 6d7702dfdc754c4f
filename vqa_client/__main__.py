"""`python -m vqa_client`, and where the program `vqa-client` begins."""


def entry() -> None:
    """Load the command line and call it; Ctrl-C while it loads ends in silence, since nothing has begun."""
    try:
        from vqa_client.cli.main import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    entry()
