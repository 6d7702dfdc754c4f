"""A short, deterministic form of the fuzzing: foreign bytes fail as they should, or not at all."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import mutated
from tests.fuzz.targets import TARGETS

EXAMPLES = 30
LONG = b"9" * 10_000
DEEP = 50_000
NESTED = (
    LONG,
    LONG + b"\0" + LONG,
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b"[{" * (DEEP // 2),
    b'{"question_id":' + LONG + b"}",
    b'[{"question_id":"' + LONG + b'"}]',
    b'{"question_id":"a","status":"ok","x":' + b"[" * DEEP,
)
EMPTY = (b"", b"\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b" \n \n", b"null", b"{}", b"[]", b'"\xff"', b'{"\xff":1}')


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=EXAMPLES)
@given(data=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(min_value=0))
def test_damaged_files_and_replies_are_read_or_refused(name: str, seed: int) -> None:
    chance, seeds = Random(seed), TARGETS[name].seeds
    TARGETS[name](mutated(chance.choice(seeds), chance.choice(seeds), chance))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("data", [*NESTED, *EMPTY], ids=range(len(NESTED) + len(EMPTY)))
def test_neither_endless_nesting_nor_nothing_at_all_is_too_much(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_what_each_begins_with_is_read(name: str) -> None:
    for data in TARGETS[name].seeds:
        TARGETS[name](data)
