"""What was read to be hashed is sent from memory, goes after its last sending, and is never needed."""

from pathlib import Path

import pytest

from tests.images.pictures import encoded, spotted
from vqa_client.errors import QuestionFailed
from vqa_client.images.data_url import encoded_pieces
from vqa_client.images.held import HELD, HeldFiles
from vqa_client.images.prepare import ImagePreparer


@pytest.fixture(autouse=True)
def nothing_held() -> None:
    HELD.clear()


def test_bytes_go_after_their_last_sending() -> None:
    held = HeldFiles()
    held.keep("a", b"123")
    held.expect("a")
    held.expect("a")
    held.sent("a")
    assert held.find("a") == b"123"
    held.sent("a")
    assert held.find("a") is None


def test_the_oldest_give_way_and_a_file_above_the_limit_is_not_kept() -> None:
    held = HeldFiles(limit_bytes=5)
    for name in "abc":
        held.keep(name, b"12")
    assert [held.find(name) for name in "abc"] == [None, b"12", b"12"]
    held.keep("d", b"123456")
    assert [held.find(name) for name in "abcd"] == [None] * 4


@pytest.mark.anyio
async def test_questions_on_one_page_send_what_was_hashed_though_it_is_gone_and_the_next_reads_the_file(
    tmp_path: Path,
) -> None:
    path, data = tmp_path / "a.png", encoded(spotted(), "PNG")
    path.write_bytes(data)
    preparer = ImagePreparer()
    (image,), (again,) = await preparer.prepare_all([str(path)]), await preparer.prepare_all([str(path)])
    expected = b"".join(encoded_pieces(image))
    path.write_bytes(b"gone")
    assert b"".join(encoded_pieces(again)) == expected
    with pytest.raises(QuestionFailed, match="changed while it was being sent"):
        b"".join(encoded_pieces(again))
    preparer.close()


@pytest.mark.anyio
async def test_a_closed_preparer_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(spotted(), "PNG"))
    preparer = ImagePreparer()
    image = await preparer.prepare(str(path))
    assert HELD.find(image.sha256)
    preparer.close()
    assert HELD.find(image.sha256) is None
