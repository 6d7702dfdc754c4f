"""The block of records in a page."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.html.samples import facts, hostile, mixed, record, write_run
from vqa_client.html.data import LONGEST_TEXT, data_block, shortened, text_limit
from vqa_client.html.shown_images import ShownImage
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview, spent
from vqa_client.types import Failure, Record, SentImage


def block_of(tmp_path: Path, records: list[Record]) -> tuple[bytes, dict[str, Any]]:
    run = read_run(write_run(tmp_path, records))
    block = data_block(overview(run), lambda image: ShownImage(note="not here"))
    return block, json.loads(block, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(name)


def texts(block: dict[str, Any], name: str) -> list[Any]:
    at = block["columns"].index(name)
    return [block["strings"][row[at]] if row[at] is not None else None for row in block["rows"]]


def test_every_record_has_a_row_in_order(tmp_path: Path) -> None:
    _, block = block_of(tmp_path, list(mixed()))
    assert [row[0] for row in block["rows"]] == [f"q{number}" for number in range(100)]
    assert all(len(row) == len(block["columns"]) for row in block["rows"])


def test_every_field_of_a_record_has_a_column(tmp_path: Path) -> None:
    image = SentImage(name="a.png", sha256="ab", size_bytes=9, width=3, height=2, transforms=("jpeg",))
    fields = {"variant": "v", "reasoning": "hm", "rationale": "since", "rivals": ("B", "C"), "source": "reasoning"}
    fields |= {"cluster": "doc", "images": (image,), "truncated_pages": 2, "prompt_tokens": 9, "completion_tokens": 8}
    fields |= {"latency_s": 1.23456, "attempts": 3, "request_bytes": 77, "system": "Be brief.", "shots": ("s1",)}
    error = Failure(message="m", http_status=502, body="b", hint="h")
    _, block = block_of(tmp_path, [record(1, **fields, error=error)])
    [row], strings = block.pop("rows"), block.pop("strings")
    texts = ["variant", "status", "prompt", "output", "reasoning", "finish", "answer", "rationale", "rule", "source"]
    texts += ["cluster", "system"]
    lists = ["rivals", "references", "groups", "shots", "choices"]
    found = dict(zip(block.pop("columns"), row, strict=True))
    shown = {name: strings[found.pop(name)] for name in texts}
    shown |= {name: [strings[n] for n in found.pop(name)] for name in lists}
    assert list(shown.values()) == [
        *("v", "ok", "Which ship sank in harbour 1?\n\nA. Ada\nB. Bee", "The correct answer is (A).", "hm"),
        *("stop", "A"),
        *("since", "answer", "reasoning", "doc", "Be brief."),
        *(["B", "C"], ["A"], ["easy"], ["s1"], ["Ada", "Bee"]),
    ]
    message, status, body, hint = found.pop("error")
    assert (strings[message], status, strings[body], strings[hint]) == ("m", 502, "b", "h")
    assert found == {
        **{"id": "q1", "score": 1.0, "parts": [0.0, 1.0], "images": [0], "cut_pages": 2, "prompt_tokens": 9},
        **{"completion_tokens": 8, "latency_s": 1.235, "attempts": 3, "request_bytes": 77, "needle": None},
    }
    assert block == {
        "answered": ["ambiguous", "empty", "ok", "refused", "truncated", "unparsed"],
        "letters": ["A", "B"],
        "metrics": ["published", "robust"],
        "fields": [{"name": "difficulty", "values": ["easy"]}],
        "images": [["a.png", "ab", 9, 3, 2, ["jpeg"], "", strings.index(""), "not here"]],
        "request": None,
        "judges": [],
        "scored": True,
    }


def test_requests_are_those_of_the_first_server_with_the_fields_that_were_sent(tmp_path: Path) -> None:
    run = facts(server={"base_url": "http://a/v1/, http://b/v1"})
    run["identity"]["model"] |= {"temperature": None, "presence_penalty": 0.5, "extra_body": {"top_p": 0.9}}
    found = overview(read_run(write_run(tmp_path, [record()], run=run)))
    assert json.loads(data_block(found, lambda image: ShownImage()))["request"] == {
        "url": "http://a/v1/chat/completions",
        "body": {"model": "org/model-7b", "max_tokens": 1024, "presence_penalty": 0.5, "top_p": 0.9},
    }


def test_a_score_has_four_decimals(tmp_path: Path) -> None:
    _, block = block_of(tmp_path, [record(score=1 / 3, parts={"robust": 1 / 3})])
    (row,) = block["rows"]
    assert row[block["columns"].index("score")] == 0.3333


def test_texts_come_back_letter_by_letter(tmp_path: Path) -> None:
    records = hostile()
    raw, block = block_of(tmp_path, records)
    assert texts(block, "output") == [one.output for one in records]
    assert texts(block, "reasoning") == [one.reasoning for one in records]
    assert b"<" not in raw


def test_a_repeated_text_is_in_the_block_once(tmp_path: Path) -> None:
    _, block = block_of(tmp_path, [record(number, prompt="the same " * 50) for number in range(50)])
    assert sum(text.startswith("the same") for text in block["strings"]) == 1


def test_a_reply_of_a_megabyte_is_shown_by_both_ends(tmp_path: Path) -> None:
    outputs = ["a" + "x" * 1_000_000 + "z", "b" * 60_001, "b" * 60_000]
    raw, block = block_of(tmp_path, [record(number, output=output) for number, output in enumerate(outputs)])
    shown, cut, whole = texts(block, "output")
    assert shown[0] == "a"
    assert shown[-1] == "z"
    assert "940,002 characters left out" in shown
    assert "1 character left out" in cut
    assert whole == outputs[2]
    assert len(raw) < 4 * LONGEST_TEXT


@given(st.lists(st.integers(0, 5_000), max_size=60), st.integers(0, 100_000))
def test_texts_fit_the_budget_and_short_ones_stay_whole(lengths: list[int], budget: int) -> None:
    limit = text_limit(lengths, budget)
    assert sum(min(length, limit) for length in lengths) <= budget
    if sum(lengths) <= budget:
        assert limit == LONGEST_TEXT


@given(st.text(), st.integers(0, 50))
def test_a_short_text_is_itself_and_a_long_one_keeps_its_ends(text: str, limit: int) -> None:
    shown = shortened(text, limit)
    if len(text) <= limit:
        assert shown == text
    else:
        half = limit // 2
        assert shown.startswith(text[:half])
        assert shown.endswith(text[len(text) - half :])


def test_dollars_are_shown_if_the_config_has_prices(tmp_path: Path) -> None:
    run = facts(prices={"input": 2.0, "output": 10.0})
    html = write_run(tmp_path, [record(1), record(2)], run=run)
    found = read_run(html)
    assert spent(overview(found)) == "900 prompt tokens and 6 reply tokens per question · $0.0037 in all"
    dear = facts(prices={"input": 10_000.0, "output": 0.0})
    short = record(1, prompt_tokens=1, completion_tokens=None)
    found = read_run(write_run(tmp_path, [short], run=dear))
    assert spent(overview(found)) == "1 prompt token per question · $0.01 in all"


def test_the_needle_is_the_line_that_has_the_answer_and_words_of_the_question(tmp_path: Path) -> None:
    lines = [
        {"page": "a_page_001.png", "text": "The 42 boats.", "bbox": [1, 2, 3, 4]},
        {"page": "a_page_002.png", "text": "The code of harbour seven is 42.", "bbox": [10, 20, 90, 30]},
        {"page": "b_page_001.png", "text": "The code of harbour seven is 42.", "bbox": [5, 5, 5, 5]},
    ]
    (tmp_path / "pages/images").mkdir(parents=True)
    (tmp_path / "pages/line_bbox.jsonl").write_text("\n".join(map(json.dumps, lines)))
    images = tuple(SentImage(name=f"a_page_00{n}.png", sha256="0" * 64, size_bytes=9) for n in (1, 2))
    asked = record(prompt="What is the code of harbour seven ?", references=("42",), images=images)
    asked = replace(asked, groups={"needle_depth": "0-20%"})
    run = facts(images_dir=str(tmp_path / "pages/images"))
    found = read_run(write_run(tmp_path, [asked, replace(asked, question_id="q2", references=("43",))], run=run))
    block = json.loads(data_block(overview(found), lambda image: ShownImage()))
    assert [row[block["columns"].index("needle")] for row in block["rows"]] == [[1, 10, 20, 90, 30], None]
    (tmp_path / "pages/line_bbox.jsonl").write_text(json.dumps(lines[1]) + "\n{")
    block = json.loads(data_block(overview(found), lambda image: ShownImage()))
    assert [row[block["columns"].index("needle")] for row in block["rows"]] == [None, None]
