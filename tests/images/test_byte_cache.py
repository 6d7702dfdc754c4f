"""What was read to be hashed is sent from memory, and is never needed there."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from tests.images.pictures import encoded, prepared, spotted
from vqa_client.data_url import BYTE_CACHE, ByteCache, LRUCache, encoded_pieces, keep_encoded
from vqa_client.errors import QuestionFailed
from vqa_client.images.prepare import ImagePreparer
from vqa_client.types import Image


@pytest.fixture(autouse=True)
def nothing_held() -> None:
    BYTE_CACHE.clear()


@pytest.mark.parametrize(
    ("held", "dropped"), [(LRUCache[str, bytes](5, len), "b"), (ByteCache(limit_bytes=5), "a")], ids=["used", "read"]
)
def test_the_least_recently_used_or_read_give_way(held: LRUCache[str, bytes], dropped: str) -> None:
    held.put("a", b"12")
    held.put("b", b"12")
    assert held.get("a") == b"12"
    held.put("c", b"12")
    assert [name for name in "abc" if held.get(name) != b"12"] == [dropped]


def test_a_large_file_is_not_kept_and_pushes_nothing_out() -> None:
    small, largest, large = bytes(12), bytes(1 << 20), bytes((1 << 20) + 1)
    for data in (small, largest, large):
        keep_encoded(Image(name="", mime="", sha256=sha256(data).hexdigest(), size_bytes=len(data)), data)
    kept = [BYTE_CACHE.get(sha256(data).hexdigest()) for data in (small, largest, large)]
    assert kept == [b64encode(small), b64encode(largest), None]


def test_the_texts_kept_have_sixteen_mebibytes_together() -> None:
    data = bytes(1 << 20)
    for number in range(12):  # the twelfth text of 1,398,104 characters is too much
        keep_encoded(Image(name="", mime="", sha256=str(number), size_bytes=len(data)), data)
    assert [BYTE_CACHE.get(str(number)) is None for number in range(12)] == [True, *[False] * 11]


def test_a_kept_text_is_sent_in_the_pieces_of_its_file(tmp_path: Path) -> None:
    data = bytes(range(250)) * 4_001
    path = tmp_path / "a.png"
    path.write_bytes(data)
    image = Image(name="", mime="", sha256=sha256(data).hexdigest(), size_bytes=len(data), path=str(path))
    read = list(encoded_pieces(image))
    keep_encoded(image, data)
    path.unlink()
    assert (list(encoded_pieces(image)), len(read)) == (read, 3)


def test_after_clearing_the_whole_place_is_free() -> None:
    held = ByteCache(limit_bytes=4)
    held.put("a", b"1234")
    held.clear()
    assert held.get("a") is None
    held.put("b", b"1234")
    assert held.get("b") == b"1234"


@pytest.mark.anyio
async def test_neighbours_send_what_was_hashed_though_the_file_has_changed_and_without_it_that_is_noticed(
    tmp_path: Path,
) -> None:
    path, data = tmp_path / "a.png", encoded(spotted(), "PNG")
    path.write_bytes(data)
    preparer = ImagePreparer()
    (image,), (again,) = await preparer.prepare([str(path)]), await preparer.prepare([str(path)])
    expected = b"".join(encoded_pieces(image))
    path.write_bytes(b"gone")
    assert b"".join(encoded_pieces(again)) == expected
    BYTE_CACHE.clear()
    with pytest.raises(QuestionFailed, match="changed while it was being sent"):
        b"".join(encoded_pieces(again))
    preparer.close()


@pytest.mark.anyio
async def test_a_closed_preparer_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(spotted(), "PNG"))
    preparer = ImagePreparer()
    image = await prepared(preparer, str(path))
    assert BYTE_CACHE.get(image.sha256)
    preparer.close()
    assert BYTE_CACHE.get(image.sha256) is None
