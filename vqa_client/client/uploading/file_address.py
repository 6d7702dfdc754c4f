"""Files that a server is told to read itself, and whether they are still what they were."""

import os
from urllib.parse import quote

from vqa_client.errors import QuestionFailed
from vqa_client.files import FileState
from vqa_client.files import state_of as file_state
from vqa_client.types import Image


def file_address(image: Image) -> str:
    """The file:// address of an image that is sent as its file is; "" for one made anew or of a name without UTF-8."""
    if image.data is not None or not image.path:
        return ""
    try:
        return "file://" + quote(os.path.abspath(image.path))
    except UnicodeEncodeError:
        return ""


def unchanged_state(image: Image) -> FileState:
    """What the file is like now; raises QuestionFailed "bad_image" where its size is no longer the image's."""
    state = state_of(image.path)
    if state[0] != image.size_bytes:
        raise changed(image.path)
    return state


def state_of(path: str) -> FileState:
    """What a file is like now; raises QuestionFailed "bad_image" where it is gone."""
    try:
        return file_state(os.stat(path))
    except OSError as error:
        raise QuestionFailed("bad_image", f"{path}: {error.strerror}", transient=True) from None


def changed(path: str) -> QuestionFailed:
    """The failure of a question whose image was written to meanwhile."""
    return QuestionFailed(
        "bad_image",
        f"{path}: changed while it was being sent",
        hint="ask again once nothing writes to the image folder any more",
        transient=True,
    )
