"""Tables have all that the records have."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.html.samples import HOSTILE, corrupted, facts, failed, hostile, mixed, needles, record, write_run
from vqa_client.errors import NotOurs, UsageError
from vqa_client.exports.numbers import as_markdown, escaped, sections, write_markdown, write_summary
from vqa_client.exports.tables import write_csv, write_jsonl, write_parquet
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import Overview, overview
from vqa_client.types import Record, SentImage

REPLIES = ("=1+1", "a,b", "line1\nline2", '"q"', "\r", "nul\x00", "-3.5", "@x", "\ttab", "'")


def read(tmp_path: Path, records: list[Record]) -> Overview:
    return overview(read_run(write_run(tmp_path, records)))


def table(tmp_path: Path, records: list[Record], *, csv_safe: bool = False) -> list[dict[str, str]]:
    write_csv(tmp_path / "x.csv", read(tmp_path, records), csv_safe=csv_safe)
    text = (tmp_path / "x.csv").read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_replies_come_back_letter_by_letter_from_csv(tmp_path: Path) -> None:
    records = [record(number, output=reply) for number, reply in enumerate(REPLIES)]
    rows = table(tmp_path, records)
    assert [row["output"] for row in rows] == list(REPLIES)
    assert len(rows) == len(records)
    assert list(rows[0]) == list(KINDS)


def test_only_formulas_are_marked_where_that_is_asked_for(tmp_path: Path) -> None:
    rows = table(tmp_path, [record(n, output=reply) for n, reply in enumerate(REPLIES)], csv_safe=True)
    changed = {reply for reply, row in zip(REPLIES, rows, strict=True) if row["output"] != reply}
    assert changed == {"=1+1", "@x", "\ttab", "\r"}
    assert rows[0]["output"] == "'=1+1"


def test_a_row_has_scores_groups_and_lists(tmp_path: Path) -> None:
    image = SentImage(name="a.png", sha256="ab" * 32, size_bytes=9)
    (row, lost) = table(tmp_path, [record(1, rivals=("B", "C"), images=(image,)), failed(2)])
    assert (row["score.robust"], row["group.difficulty"]) == ("1.0", "easy")
    assert (json.loads(row["rivals"]), json.loads(row["references"])) == (["B", "C"], list(record(1).references))
    assert [image["sha256"] for image in json.loads(row["images"])] == ["ab" * 32]
    assert (lost["output"], lost["error"], lost["http_status"]) == ("", "no reply within 60 s", "502")


def test_the_columns_of_the_users_own_file_are_the_last(tmp_path: Path) -> None:
    records = [record(number) for number in range(3)]
    own = ({"source": "x", "pages": [1, 2], "of": {"a": 1}, "n": 2.5}, {"source": None})
    data = {each.question_id: columns for each, columns in zip(records, own, strict=False)}
    found = read(tmp_path, records)
    write_csv(tmp_path / "x.csv", found, csv_safe=False, data=data)
    head, *rows = csv.reader(io.StringIO((tmp_path / "x.csv").read_text()))
    assert head[-5:] == ["http_status", "data.source", "data.pages", "data.of", "data.n"]
    assert [row[-4:] for row in rows] == [["x", "[1,2]", '{"a":1}', "2.5"], [""] * 4, [""] * 4]


def test_without_a_known_answer_no_row_is_scored(tmp_path: Path) -> None:
    rows = table(tmp_path, [record(n, references=(), score=0.0, parts={}) for n in range(2)])
    assert [(row["correct"], row["score"]) for row in rows] == [("", "")] * 2
    (lost,) = table(tmp_path, [failed(1, references=("A",))])
    assert (lost["correct"], lost["score"]) == ("False", "0.0")


def test_every_file_is_written_again_over_itself_and_over_no_other(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    found = read(tmp_path, list(mixed()))
    as_csv = partial(write_csv, csv_safe=False)
    for write in (as_csv, write_jsonl, write_parquet, write_summary, write_markdown):
        path = tmp_path / "x"
        write(path, found)
        first = path.read_bytes()
        path.write_bytes(first[: len(first) // 2])
        write(path, found)
        assert path.read_bytes() == first
        path.write_bytes(b"other")
        with pytest.raises(NotOurs):
            write(path, found)
        path.unlink()
    write_jsonl(tmp_path / "x.jsonl", found)
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [list(row) for row in rows] == [list(KINDS)] * 100
    assert [row["output"] for row in rows] == [one.output for one in found.run.records]


def test_hostile_texts_come_back_from_csv(tmp_path: Path) -> None:
    rows = table(tmp_path, hostile())
    assert [row["output"] for row in rows] == [text * 3 for text in HOSTILE]


KINDS = {
    **{"question_id": "string", "variant": "string", "status": "string", "correct": "bool", "score": "double"},
    **{"answer": "string", "references": "list", "rationale": "string", "rule": "string", "rivals": "list"},
    **{"source": "string", "score.published": "double", "score.robust": "double", "group.difficulty": "string"},
    **{"cluster": "string", "prompt": "string", "output": "string", "reasoning": "string"},
    **{"finish_reason": "string", "prompt_tokens": "int64", "completion_tokens": "int64", "latency_s": "double"},
    **{"ttft_s": "double", "attempts": "int64", "request_bytes": "int64", "truncated_pages": "int64"},
    **{"images": "list", "error": "string", "http_status": "int64"},
}
"""The columns in order, with their Parquet types."""
IMAGE = ["name", "sha256", "size_bytes", "width", "height", "transforms", "file_sha256", "file_size_bytes"]


def test_parquet_holds_the_same_rows_with_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow (extra parquet) is not installed")
    found = read(tmp_path, [*mixed(), *hostile()])
    write_parquet(tmp_path / "x.parquet", found)
    table = parquet.read_table(tmp_path / "x.parquet")
    kinds = dict(zip(table.column_names, map(str, table.schema.types), strict=True))
    assert {name: kinds[name].partition("<")[0] for name in KINDS} == KINDS  # the others are of hostile groups
    rows = table.to_pylist()
    assert [row["question_id"] for row in rows] == [one.question_id for one in found.run.records]
    assert [row["output"] for row in rows] == [one.output for one in found.run.records]
    assert sum(row["correct"] for row in rows) == 60
    assert rows[0]["images"][0]["sha256"] == "a" * 64
    assert list(rows[0]["images"][0]) == IMAGE


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"^--parquet needs pyarrow$") as caught:
        write_parquet(tmp_path / "x.parquet", read(tmp_path, [record(1)]))
    assert caught.value.hint.endswith("pip install 'vqa-client[parquet]'")


SUMMARY = {
    "task": "mc",
    "measure": "accuracy by the robust parser",
    "variant": "clean",
    "headline_variant": None,
    "model": "org/model-7b",
    "records": "clean_mc_eval.records.jsonl",
    "expected": None,
    "failed": 15,
    "n_truncated": 0,
    "crossings": [],
    "all_variants": None,
    "latency_s": {"median": 1.0, "p95": 1.4, "max": 1.4},
    "prompt_tokens": {"total": 76500, "n": 85},
    "completion_tokens": {"total": 675, "n": 85},
    "attempts": 160,
}
NESTED = ["breakdowns", "overall", "run", "scores", "status_counts", "status_shares", "without_truncated"]


def test_the_summary_is_strict_json_with_both_accuracies(tmp_path: Path) -> None:
    write_summary(tmp_path / "x.json", read(tmp_path, list(mixed())))
    found = json.loads((tmp_path / "x.json").read_text(), parse_constant=pytest.fail)
    assert (found["overall"]["accuracy"], found["overall"]["total"], found["overall"]["answered"]) == (0.6, 100, 85)
    assert found["overall"]["accuracy_answered"] == pytest.approx(0.70588, abs=1e-5)
    assert (found["status_shares"]["timeout"], found["status_shares"]["unparsed"]) == (0.15, 0.05)
    assert {name: found[name] for name in SUMMARY} == SUMMARY
    assert [*SUMMARY, *sorted(found.keys() - SUMMARY.keys())] == [*SUMMARY, *NESTED]


def test_a_run_without_a_record_has_a_summary_of_nulls(tmp_path: Path) -> None:
    write_summary(tmp_path / "x.json", read(tmp_path, []))
    found = json.loads((tmp_path / "x.json").read_text(), parse_constant=pytest.fail)
    assert found["overall"]["accuracy"] is None
    assert found["latency_s"] == {"median": None, "p95": None, "max": None}


MARKDOWN = """# mc clean: org/model\\-7b

| accuracy by the robust parser | % | 95 % interval | n |
|---|---:|---:|---:|
| all questions | 60.0 % | 50.2 to 69.1 | 100 |
| answered ones | 70.6 % | 60.2 to 79.2 | 85 |

Intervals: Wilson.

| status | n | share |
|---|---:|---:|
| ok | 80 | 80.0 % |
| unparsed | 5 | 5.0 % |
| timeout \\(failed\\) | 15 | 15.0 % |

| metric | accuracy | 95 % interval | n |
|---|---:|---:|---:|
| published | 0.0 % | 0.0 to 3.7 | 100 |
| robust | 60.0 % | 50.2 to 69.1 | 100 |

| difficulty | accuracy | 95 % interval | n |
|---|---:|---:|---:|
| easy | 69.8 % | 54.9 to 81.4 | 43 |
| hard | 52.6 % | 39.9 to 65.0 | 57 |

| rule | accuracy | 95 % interval | n |
|---|---:|---:|---:|
| answer | 75.0 % | 64.5 to 83.2 | 80 |
| none | 0.0 % | 0.0 to 16.1 | 20 |

| cost | of all 100 questions |
|---|---:|
| time | 15.0 s |
| questions per second | 0.53 |
| latency, median | 1.00 s |
| latency, 95 % | 1.40 s |
| latency, longest | 1.40 s |
| prompt tokens | 76,500 |
| reply tokens | 675 |
| reply tokens per second | 3.6 |
| requests | 160 |
| sent | 85.0 KB |
"""


def test_markdown_says_the_headline_and_every_table_is_whole(tmp_path: Path) -> None:
    assert "\n".join(markdown(read(tmp_path, list(mixed())))) == MARKDOWN


def test_no_foreign_text_breaks_a_markdown_table(tmp_path: Path) -> None:
    lines = list(markdown(read(tmp_path, hostile())))
    assert all("\n" not in line for line in lines)
    assert not [line for line in lines if "<script" in line.replace("\\<", "")]


def test_an_invisible_character_is_a_space_or_its_code() -> None:
    assert escaped("a\u202eb\n\x00|c") == "aU\\+202Eb U\\+0000\\|c"


@given(st.text())
def test_escaped_text_is_one_line_without_a_bare_pipe(text: str) -> None:
    shown = escaped(text)
    assert shown.splitlines() in ([], [shown])
    assert "|" not in shown.replace("\\|", "")


def markdown(found: Overview) -> Iterator[str]:
    return as_markdown(sections(found))


def of_variants(tmp_path: Path) -> Overview:
    """Five questions clean and under fifteen variants of corruption; those of one corruption failed."""
    records = [failed(9, variant="snow/1", prompt_tokens=None), *corrupted(5)]
    return read(tmp_path, records)


def test_with_several_variants_the_summary_has_the_headlines_figures_and_the_statuses_of_all(tmp_path: Path) -> None:
    write_summary(tmp_path / "x.json", of_variants(tmp_path))
    found = json.loads((tmp_path / "x.json").read_text(), parse_constant=pytest.fail)
    assert (found["headline_variant"], found["overall"]["total"], found["failed"]) == ("clean", 5, 0)
    assert (found["all_variants"]["total"], found["all_variants"]["failed"]) == (81, 1)
    assert found["all_variants"]["status_counts"]["timeout"] == 1
    assert found["prompt_tokens"]["n"] == 80
    write_summary(tmp_path / "y.json", read(tmp_path, list(mixed())))
    assert json.loads((tmp_path / "y.json").read_text())["all_variants"] is None
    write_summary(tmp_path / "z.json", read(tmp_path, needles(8)))
    (crossing,) = json.loads((tmp_path / "z.json").read_text())["crossings"]
    assert crossing["fields"] == ["needle_depth", "context_length"]
    assert crossing["values"]["0-20%"]["16k-24k"]["total"] == 2
    lines = list(markdown(read(tmp_path, needles(8))))
    assert lines[lines.index(r"| 0\-20% | - | 100.0 \(1\) | 100.0 \(2\) | - |") - 2] == (
        r"| % \(n\) by needle depth and context length | \<8k | 8k\-16k | 16k\-24k | \>=64k |"
    )


def test_markdown_of_several_variants_names_that_of_its_figures(tmp_path: Path) -> None:
    lines = list(markdown(of_variants(tmp_path)))
    assert "Figures are of clean images; all 16 variants are in a table below." in lines
    assert "| variant | accuracy | 95 % interval | n | failed |" in lines
    (snow,) = (line for line in lines if line.startswith("| snow/1 |"))
    assert snow.endswith("| 6 | 1 |")
    assert "| cost | of all 81 questions |" in lines
    assert sum(line.startswith("| clean |") for line in lines) == 1


def test_markdown_has_totals_in_per_cent_and_in_points(tmp_path: Path) -> None:
    totals = {
        "f1": {"strict": {"value": 0.25, "low": 0.1, "high": 0.5}, "loose": {"value": None}},
        "grade": {"strict": {"value": 1234.56, "low": 1000.0}},
    }
    benchmark = {"headline": "strict", "totals": {"f1": "", "grade": ""}, "points": {"grade": 2000.0}}
    run = read_run(write_run(tmp_path, [record(1)], run=facts(totals=totals, benchmark=benchmark)))
    lines = list(markdown(overview(run)))
    start = lines.index("| total | metric | % | 95 % interval |")
    assert lines[start + 2 : start + 6] == [
        "| f1 | strict | 25.0 | 10.0 to 50.0 |",
        "| f1 | loose | - | - |",
        "| grade \\(points of 2000\\) | strict | 1234.6 | - |",
        "",
    ]


def test_markdown_names_what_is_measured_and_what_is_missing(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, [record(1)], run=facts(expected=3)))
    lines = list(markdown(overview(run)))
    assert "| accuracy by the robust parser | % | 95 % interval | n |" in lines
    assert "Intervals: Wilson." in lines
    groups = [("a", "easy"), ("a", "easy"), ("b", "easy"), ("b", "hard")]
    records = [record(n, cluster=a, groups={"difficulty": of}, score=n / 4) for n, (a, of) in enumerate(groups)]
    lost = failed(2, status="bad_image", groups={"kind_of": "c"})
    kinds = list(markdown(read(tmp_path / "kinds", [record(1, groups={"kind_of": "a_b"}), lost])))
    assert "| kind of | accuracy | 95 % interval | n |" in kinds
    assert "| bad image \\(failed\\) | 1 | 50.0 % |" in kinds
    assert "| a\\_b | 100.0 % | 20.7 to 100.0 | 1 |" in kinds
    assert "Intervals: Wilson, cluster\\-robust t." in markdown(read(tmp_path / "two", records))
    assert "| all questions | - | - | 0 |" in markdown(read(tmp_path / "empty", []))
    assert "Not finished: 2 of 3 questions have no record yet." in lines
    whole = list(markdown(overview(read_run(write_run(tmp_path, [record(1, groups={})], run=facts(expected=1))))))
    assert "Intervals: Wilson." in whole
    assert not [line for line in whole if line.startswith("Not finished")]
    assert not [line for line in markdown(read(tmp_path / "empty", [])) if line.startswith("Intervals")]
    assert any(line.startswith("| unchanged |") for line in markdown(read(tmp_path, [record(1), *corrupted(1)])))
