"""The packages that draw: what is installed of them, in which versions."""

from importlib.metadata import PackageNotFoundError, version

from vqa_client.errors import UsageError

PACKAGES = ("pypdfium2", "uharfbuzz", "python-bidi", "pymupdf-fonts", "pillow")


def versions() -> dict[str, str]:
    """The version of each; raises UsageError where one is missing."""
    try:
        return {name: version(name) for name in PACKAGES}
    except PackageNotFoundError as error:
        raise UsageError(
            f"drawing pages needs the package {error.name}", hint="pip install 'vqa-client[render]'"
        ) from None
