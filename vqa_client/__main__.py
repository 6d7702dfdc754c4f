"""`python -m vqa_client` is `vqa-client`."""

from vqa_client.cli.main import main

if __name__ == "__main__":
    main()
