import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.reports.sample_records import (
    CHOICES,
    answered,
    failed,
    mc_groups,
    mc_question,
    needle,
    needle_question,
)
from vqa_client.reports.run import Run
from vqa_client.tasks.longbench.report import write_mc, write_niah
from vqa_client.types import ANSWERED, STATUSES, Failure, Question, Record

PUBLISHED_MC = [
    "subdirectory",
    "model",
    "config",
    "text_only_mode",
    "data_path",
    "images_dir",
    "total_questions",
    "correct",
    "accuracy",
    "errors",
    "context_length_analysis",
    "detailed_analysis",
    "results",
]
BUCKETS = ["<8k", "8k-16k", "16k-24k", "24k-32k", "32k-48k", "48k-64k", ">=64k"]
DEPTHS = ["0-20%", "20-40%", "40-60%", "60-80%", "80-100%"]
EMPTY = {"total": 0, "correct": 0, "accuracy": None}


def run_of(**changes: Any) -> Run:
    fields: dict[str, Any] = {
        "folder": "adv_dpi_56",
        "model": "org/name:bf16",
        "config": "config/qwen3-vl.json",
        "data_path": "data/data.json",
        "images_dir": "data/adv_dpi_56/images",
        "expected": 3,
        "scoring": {"parser": "robust", "version": "1"},
    }
    return Run(**(fields | changes))


def mc_report(
    path: Path, records: list[Record], *, run: Run | None = None, questions: list[Question] | None = None
) -> Any:
    asked = questions or [mc_question(record.question_id) for record in records]
    write_mc(path, run or run_of(), lambda: zip(asked, records, strict=True))
    return json.loads(path.read_bytes(), parse_constant=pytest.fail)


def niah_report(path: Path, records: list[Record], **changes: Any) -> Any:
    asked = [needle_question(*_parts(record.question_id)) for record in records]
    write_niah(path, run_of(**changes), lambda: zip(asked, records, strict=True))
    return json.loads(path.read_bytes(), parse_constant=pytest.fail)


def _parts(question_id: str) -> tuple[str, int]:
    document, _, index = question_id.rpartition("#")
    return document, int(index)


THREE = [
    answered("a"),
    answered("b", right=False, groups=mc_groups(difficulty="hard", length="long", context_length=">=64k")),
    failed("c"),
]


OURS = (
    *("question_id", "outcome", "rule", "rivals", "source", "scores", "groups", "finish_reason", "prompt_tokens"),
    *("completion_tokens", "images", "truncated_pages"),
)
"""The keys of an answered question's result that follow those of the published script."""


def test_the_published_keys_come_in_their_order(tmp_path: Path) -> None:
    report = mc_report(tmp_path / "r.json", THREE)
    assert [key for key in report if key in PUBLISHED_MC] == PUBLISHED_MC
    assert {key: report[key] for key in PUBLISHED_MC[:10]} == {
        "subdirectory": "adv_dpi_56",
        "model": "org/name:bf16",
        "config": "config/qwen3-vl.json",
        "text_only_mode": False,
        "data_path": "data/data.json",
        "images_dir": "data/adv_dpi_56/images",
        "total_questions": 3,
        "correct": 1,
        "accuracy": 1 / 3 * 100,
        "errors": 1,
    }


def test_every_published_bucket_is_listed_and_an_empty_one_has_no_accuracy(tmp_path: Path) -> None:
    report = mc_report(tmp_path / "r.json", THREE)
    lengths = report["context_length_analysis"]["by_context_length"]
    detailed = report["detailed_analysis"]
    assert list(lengths) == BUCKETS
    assert lengths["8k-16k"] == {"total": 2, "correct": 1, "accuracy": 50.0}
    assert lengths["<8k"] == EMPTY
    assert list(detailed) == ["by_difficulty", "by_length", "by_difficulty_and_length"]
    assert list(detailed["by_difficulty"]) == ["easy", "medium", "hard"]
    assert detailed["by_difficulty"]["medium"] == EMPTY
    assert list(detailed["by_length"]) == ["short", "medium", "long"]
    assert [list(row) for row in detailed["by_difficulty_and_length"].values()] == [["short", "medium", "long"]] * 3
    assert detailed["by_difficulty_and_length"]["hard"]["long"] == {"total": 1, "correct": 0, "accuracy": 0.0}


def test_values_the_published_script_drops_are_listed_after_its_own(tmp_path: Path) -> None:
    groups = mc_groups(difficulty="unknown", length="xl", context_length="unknown")
    report = mc_report(tmp_path / "r.json", [*THREE, answered("d", groups=groups)])
    detailed = report["detailed_analysis"]
    assert list(detailed["by_difficulty"]) == ["easy", "medium", "hard", "unknown"]
    assert list(detailed["by_length"]) == ["short", "medium", "long", "xl"]
    assert detailed["by_difficulty_and_length"]["unknown"]["xl"]["total"] == 1
    assert detailed["by_difficulty_and_length"]["easy"]["xl"] == EMPTY
    for groups_listed in (detailed["by_difficulty"], report["context_length_analysis"]["by_context_length"]):
        assert sum(group["total"] for group in groups_listed.values()) == 4


def test_a_result_has_the_published_fields_and_ours_after_them(tmp_path: Path) -> None:
    first, _, lost = mc_report(tmp_path / "r.json", THREE)["results"]
    assert list(first) == [
        *("instance_id", "question", "choices", "ground_truth", "prompt", "model_output", "extracted_answer"),
        *("correct", "num_images", "status"),
        *OURS,
    ]
    assert first["choices"] == CHOICES
    assert (first["correct"], first["status"], first["outcome"], first["rule"]) == (
        True,
        "success",
        "ok",
        "declaration",
    )
    assert first["scores"] == {"robust": 1.0, "seed": 1.0, "longbench": 0.0}
    assert first["images"] == [{"name": "a_page_001.png", "sha256": "ab" * 32, "size_bytes": 1_000}]
    assert (first["finish_reason"], first["prompt_tokens"], first["completion_tokens"]) == ("stop", 100, 10)
    assert "prompt" not in lost
    assert (lost["model_output"], lost["extracted_answer"], lost["correct"]) == (None, None, False)
    assert (lost["status"], lost["error"], lost["num_images"]) == ("connection_error", "no reply within 600 s", 2)


@pytest.mark.parametrize("status", STATUSES)
def test_statuses_are_the_published_ones_with_ours_beside_them(tmp_path: Path, status: str) -> None:
    record = answered("a", right=False, status=status) if status in ANSWERED else failed("a", status)
    report = mc_report(tmp_path / "r.json", [record])
    (result,) = report["results"]
    if status in ANSWERED:
        assert (result["status"], report["errors"]) == ("success", 0)
    else:
        expected = "connection_error" if status in ("connection", "timeout") else "error"
        assert (result["status"], report["errors"]) == (expected, 1)
    assert result["outcome"] == status
    assert report["status_counts"][status] == 1
    assert list(report["status_counts"]) == list(STATUSES)


def test_a_reply_without_an_answer_has_an_empty_one_as_published(tmp_path: Path) -> None:
    record = answered("a", right=False, status="unparsed", answer=None, rivals=("A", "C"))
    (result,) = mc_report(tmp_path / "r.json", [record])["results"]
    assert (result["extracted_answer"], result["rivals"]) == ("", ["A", "C"])


def test_both_denominators_are_in_the_file_in_per_cent(tmp_path: Path) -> None:
    records = [answered(f"r{n}") for n in range(60)]
    records += [answered(f"w{n}", right=False) for n in range(20)]
    records += [failed(f"f{n}") for n in range(15)]
    records += [answered(f"u{n}", right=False, status="unparsed", answer=None) for n in range(5)]
    report = mc_report(tmp_path / "r.json", records, run=run_of(expected=100))
    assert report["accuracy"] == 60.0
    assert round(report["accuracy_answered"], 2) == 70.59
    assert (report["answered"], report["errors"], report["status_counts"]["unparsed"]) == (85, 15, 5)
    assert 0 < report["interval"]["low"] < 60 < report["interval"]["high"] < 100
    assert report["scores"]["seed"]["overall"]["accuracy"] == 85.0
    assert report["scores"]["longbench"]["answered"] | {"interval": None} == {
        "n": 85,
        "accuracy": 0.0,
        "interval": None,
    }


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    whole = mc_report(tmp_path / "r.json", THREE)
    part = mc_report(tmp_path / "r.json", THREE[:2], run=run_of(expected=3))
    assert (whole["incomplete"], part["incomplete"], part["expected_questions"]) == (False, True, 3)
    assert [result["instance_id"] for result in part["results"]] == ["a", "b"]


def test_a_run_without_questions_is_a_report_too(tmp_path: Path) -> None:
    report = mc_report(tmp_path / "r.json", [], run=run_of(expected=0, left_out={"no_images": ("a", "b")}))
    assert (report["total_questions"], report["accuracy"], report["interval"]) == (0, None, None)
    assert report["left_out"] == {"no_images": ["a", "b"]}
    assert report["results"] == []


def test_times_attempts_and_hosts_do_not_change_the_report(tmp_path: Path) -> None:
    slow = [answered("a", latency_s=9.0, attempts=4, request_bytes=7), *THREE[1:]]
    mc_report(tmp_path / "quick.json", THREE)
    mc_report(tmp_path / "slow.json", slow)
    assert (tmp_path / "quick.json").read_bytes() == (tmp_path / "slow.json").read_bytes()


def test_foreign_text_survives(tmp_path: Path) -> None:
    for text in ("a\u2028b\x85c\x0bd", "=1+1", 'line1\nline2 "q"\r\x00', "答案 ✓"):
        (result,) = mc_report(tmp_path / "r.json", [answered("a", output=text, reasoning=text)])["results"]
        assert (result["model_output"], result["reasoning"]) == (text, text)


@pytest.mark.parametrize("context", ["The boats. " * 100, "short", "The boats. " * 5_000])
def test_a_text_only_report_has_the_bare_prompt(tmp_path: Path, context: str) -> None:
    asked = Question(id="a", text="Q", references=("B",), choices=CHOICES, extra={"context": context})
    prompt = f"Context:\n{context}\n\nQ\n\nA. the Gannet"
    kept = prompt if len(prompt) < 10_000 else f"{prompt[:5_000]}\n[... {len(prompt)} ...]\n{prompt[-5_000:]}"
    report = mc_report(tmp_path / "r.json", [answered("a", prompt=kept)], questions=[asked], run=run_of(text_only=True))
    assert report["text_only_mode"] is True
    assert report["results"][0]["prompt"] == "Q\n\nA. the Gannet"


def test_an_error_keeps_the_server_s_words(tmp_path: Path) -> None:
    record = failed("a", "server_error", error=Failure(message="500: out of memory", http_status=500))
    (result,) = mc_report(tmp_path / "r.json", [record])["results"]
    assert (result["status"], result["error"]) == ("error", "500: out of memory")


NEEDLES = [
    needle("doc1", 0, right=True, depth="0-20%"),
    needle("doc1", 2, right=False, depth="80-100%"),
    needle("doc2", 0, right=True, depth="0-20%", context_length=">=64k"),
    needle("doc2", 1, right=True, depth="unknown", context_length="unknown"),
]


def test_the_needle_report_has_the_published_form(tmp_path: Path) -> None:
    report = niah_report(tmp_path / "r.json", NEEDLES, scoring={"case_sensitive": "true"})
    order = ["errors", "case_sensitive", "instance_accuracies", "detailed_analysis", "results"]
    assert [key for key in report if key in order] == order
    assert report["case_sensitive"] is True
    assert report["instance_accuracies"] == {
        "doc1": {"total": 2, "correct": 1, "accuracy": 50.0},
        "doc2": {"total": 2, "correct": 2, "accuracy": 100.0},
    }
    detailed = report["detailed_analysis"]
    assert list(detailed) == ["by_context_length", "by_needle_depth", "by_length_and_depth"]
    assert list(detailed["by_context_length"]) == [*BUCKETS, "unknown"]
    assert list(detailed["by_needle_depth"]) == [*DEPTHS, "unknown"]
    assert detailed["by_needle_depth"]["0-20%"] == {"total": 2, "correct": 2, "accuracy": 100.0}
    assert detailed["by_length_and_depth"]["<8k"]["80-100%"] == {"total": 1, "correct": 0, "accuracy": 0.0}
    assert detailed["by_length_and_depth"]["48k-64k"]["40-60%"] == EMPTY
    assert report["scores"]["strict"]["overall"]["accuracy"] == 0.0
    assert report["scores"]["n_numbers"] == {"n": 4, "mean": 2.0}


def test_the_published_keys_of_the_needle_report_keep_the_published_count(tmp_path: Path) -> None:
    thought = replace(NEEDLES[1], parts={"containment": 0.0, "published": 1.0, "strict": 0.0, "n_numbers": 1.0})
    report = niah_report(tmp_path / "r.json", [NEEDLES[0], thought])
    assert (report["correct"], report["accuracy"]) == (2, 100.0)
    assert report["interval"]["high"] == 100.0
    assert report["instance_accuracies"]["doc1"]["correct"] == 2
    assert report["detailed_analysis"]["by_needle_depth"]["80-100%"]["correct"] == 1
    assert [result["correct"] for result in report["results"]] == [True, True]
    assert report["scores"]["containment"]["overall"]["accuracy"] == 50.0
    assert report["breakdowns"]["needle_depth"]["80-100%"]["correct"] == 0


def test_a_needle_result_has_the_published_fields(tmp_path: Path) -> None:
    results = niah_report(tmp_path / "r.json", NEEDLES)["results"]
    assert [(result["instance_id"], result["question_idx"]) for result in results] == [
        ("doc1", 0),
        ("doc1", 2),
        ("doc2", 0),
        ("doc2", 1),
    ]
    assert list(results[0]) == [
        *("instance_id", "question_idx", "question", "ground_truth", "model_output", "correct", "num_images", "status"),
        *OURS,
    ]


def test_the_records_are_read_once(tmp_path: Path) -> None:
    """Each walk over a million records takes seconds."""
    walks: list[str] = []

    def walk(task: str, question: Question, record: Record) -> list[tuple[Question, Record]]:
        walks.append(task)
        return [(question, record)]

    one = needle("d1", 0, right=True, depth="0-20%")
    write_niah(tmp_path / "niah.json", run_of(), lambda: walk("niah", needle_question("d1", 0), one))
    write_mc(tmp_path / "mc.json", run_of(), lambda: walk("mc", mc_question("q1"), answered("q1")))
    assert walks == ["niah", "mc"]
