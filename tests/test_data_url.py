import base64
import errno
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client import data_url
from vqa_client.data_url import PIECE_BYTES, encoded_pieces
from vqa_client.errors import QuestionFailed
from vqa_client.types import Image


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_url, "PIECE_BYTES", 3)


def image_of(data: bytes, path: Path | None = None) -> Image:
    if path is None:
        return Image(name="a", mime="image/png", sha256="", size_bytes=len(data), data=data)
    path.write_bytes(data)
    return Image(name="a", mime="image/png", sha256="", size_bytes=len(data), path=str(path))


@given(st.binary(min_size=1, max_size=400), st.integers(1, 50))
def test_the_pieces_joined_are_the_base64_of_the_bytes(data: bytes, triples: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data_url, "PIECE_BYTES", triples * 3)
        pieces = list(encoded_pieces(image_of(data)))
    assert b"".join(pieces) == base64.b64encode(data)
    assert sum(map(len, pieces)) == (len(data) + 2) // 3 * 4
    assert all(len(piece) == 4 * triples for piece in pieces[:-1])


@pytest.mark.parametrize("size", [1, 2, 3, 294_911, 294_912, 294_913, 800_000])
def test_a_file_is_read_in_pieces_as_it_is(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    pieces = list(encoded_pieces(image_of(data, tmp_path / "a")))
    assert b"".join(pieces) == base64.b64encode(data)
    assert len(pieces) == -(-size // PIECE_BYTES)
    assert PIECE_BYTES % 3 == 0, "a piece in the middle would be padded"


@pytest.mark.usefixtures("small_pieces")
def test_an_image_can_be_encoded_again(tmp_path: Path) -> None:
    image = image_of(b"abcdef", tmp_path / "a")
    assert list(encoded_pieces(image)) == list(encoded_pieces(image)) == [b"YWJj", b"ZGVm"]


@pytest.mark.parametrize("size", [5, 7, 0])
def test_a_file_whose_size_has_changed_is_a_bad_image(tmp_path: Path, size: int) -> None:
    image = image_of(b"abcdef", tmp_path / "a")
    (tmp_path / "a").write_bytes(b"x" * size)
    with pytest.raises(QuestionFailed, match="changed while") as caught:
        next(encoded_pieces(image))
    assert caught.value.status == "bad_image"


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("size", [5, 12, 0])
def test_a_file_that_changes_between_two_pieces_is_a_bad_image(tmp_path: Path, size: int) -> None:
    pieces = encoded_pieces(image_of(b"abcdefghi", tmp_path / "a"))
    next(pieces)
    (tmp_path / "a").write_bytes(b"x" * size)
    with pytest.raises(QuestionFailed, match="changed while"):
        list(pieces)


@pytest.mark.usefixtures("small_pieces")
def test_a_file_replaced_while_it_is_sent_is_never_mixed_with_the_new_one(tmp_path: Path) -> None:
    pieces = encoded_pieces(image_of(b"abcdef", tmp_path / "a"))
    next(pieces)
    (tmp_path / "b").write_bytes(b"uvwxyz")
    os.replace(tmp_path / "b", tmp_path / "a")
    with pytest.raises(QuestionFailed, match="changed while"):
        list(pieces)


def test_a_file_that_is_gone_is_a_bad_image_with_its_path(tmp_path: Path) -> None:
    image = image_of(b"abc", tmp_path / "a")
    (tmp_path / "a").unlink()
    with pytest.raises(QuestionFailed, match=str(tmp_path / "a")):
        next(encoded_pieces(image))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("after", [0, 1])
def test_a_disk_error_while_a_file_is_sent_is_a_transient_bad_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    pieces = encoded_pieces(image_of(b"abcdef", tmp_path / "a"))
    for _ in range(after):
        next(pieces)

    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", fails)
    with pytest.raises(QuestionFailed, match="Input/output") as caught:
        list(pieces)
    assert (caught.value.status, caught.value.transient) == ("bad_image", True)


def test_bytes_of_another_size_are_a_bad_image() -> None:
    for size in (2, 4):
        image = Image(name="a", mime="image/png", sha256="", size_bytes=size, data=b"abc")
        with pytest.raises(QuestionFailed, match=f"a: changed while it was being sent; it had {size} bytes") as caught:
            list(encoded_pieces(image))
        assert caught.value.hint == "run again once nothing writes to the image folder"
        assert caught.value.transient


@pytest.mark.usefixtures("small_pieces")
def test_no_file_is_open_while_a_piece_is_being_sent(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    pieces = encoded_pieces(image_of(b"abcdef", tmp_path / "a"))
    for _ in range(2):
        next(pieces)
        assert len(os.listdir("/dev/fd")) == before


@pytest.mark.usefixtures("small_pieces")
def test_without_pybase64_the_text_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybase64", None)
    data_url._encoder.cache_clear()
    try:
        assert list(encoded_pieces(image_of(b"abcd"))) == [b"YWJj", b"ZA=="]
    finally:
        data_url._encoder.cache_clear()
