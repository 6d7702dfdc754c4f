"""The examples of docs/asking.md that need no server print the output shown there; a dry run does so word for word."""

import json
import re
import signal
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.test_worded import SUMMARY, TALLY, report
from tests.html.samples import record, write_run
from vqa_client.cli import evaluate, judge
from vqa_client.cli.batch_steps import _file_lines
from vqa_client.cli.dry_run import _plan_lines, _total_lines
from vqa_client.cli.evaluate import exit_code_for, shard_lines
from vqa_client.cli.main import run_command
from vqa_client.cli.pages_beside import write_pages
from vqa_client.cli.streams import Stopped
from vqa_client.model_config import Prices
from vqa_client.runs.batched import Written
from vqa_client.runs.dry_run import DryRun, ExpectedRun, Overflow
from vqa_client.settings.run import RunSettings
from vqa_client.tasks.report import DeclaredSummary

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "asking.md"


def example(heading: str) -> list[str]:
    """The lines of the first block of output below a heading."""
    if not DOCS.exists():
        pytest.skip("docs/ is not here")
    (found,) = re.findall(rf"^## {re.escape(heading)}.*?^```\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)
    return [line.rstrip() for line in found.splitlines()]


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_example_of_a_dry_run_is_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = example("`--dry_run`")
    config = tmp_path / "priced.json"
    prices = {"input": 2.5, "output": 10}
    config.write_text(json.dumps({"model_name": "big-vlm", "max_tokens": 1024, "prices": prices}))
    arguments: list[Any] = [
        "niah",
        "--input",
        ROOT / "data" / "niah",
        "-o",
        tmp_path / "out",
        "-c",
        config,
        "--dry_run",
    ]
    assert run_command([*map(str, arguments), "--rate", "0.5", "--context_length", "1800"]) == 0
    assert printed(capsys)[: len(wanted)] == wanted
    assert not (tmp_path / "out").exists()


def test_the_example_of_an_explained_reading_is_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = example("`parse --explain`")
    texts = re.findall(r"([A-D])\. (.*?)(?=  [A-D]\. |$)", wanted[3].removeprefix("choices: "))
    kept = record(
        question_id="cdb9d634c9fe9947c3af289c",
        variant="clean",
        status="ambiguous",
        prompt="Why?\n\n" + "\n".join(f"{label}. {text}" for label, text in texts),
        output="It is either (D) or (A).",
        answer=None,
        rule="identity",
        rivals=("A", "D"),
        references=("D",),
        score=0.0,
        parts={"robust": 0.0, "published": 1.0, "longbench": 0.0},
    )
    monkeypatch.chdir(tmp_path)
    write_run(Path("out"), [kept])
    assert run_command(["parse", "out", "--explain", kept.question_id]) == 0
    assert printed(capsys)[:-1] == wanted[:-1]  # the last line is of the data file, which isn't named here


EXPECTED = ExpectedRun(
    title="mc clean",
    requests=1_000,
    kept=0,
    images=1,
    sent_bytes=2_500_000,
    image_tokens=2_000_000,
    text_tokens=1_000_000,
    overflows=(),
    unreadable=(),
    max_tokens=5_000,
)
RUN = DryRun(model="", context_length=None, said_by="", prices=None, plans=(EXPECTED,))


def test_a_dry_run_prints_its_estimates() -> None:
    head = [
        "mc clean · the model that the server serves",
        "  1,000 requests · 1 image · 2.5 MB to send",
        "  about 2,000,000 image tokens by the rule qwen3-vl: one for each 32 x 32 pixels",
        "  about 1,000,000 text tokens by cl100k_base; replies have at most 5,000 each",
    ]
    unknown = "  no server states its context window: --context_length TOKENS finds what doesn't fit"
    rate = "  --rate QUESTIONS_PER_SECOND estimates the time"
    assert list(_plan_lines(RUN, EXPECTED, RunSettings())) == [*head, unknown, rate]
    known = replace(
        RUN, model="m", context_length=8_192, said_by="as the server says", prices=Prices(input=2, output=10)
    )
    paced = RunSettings(rate=0.5, dry_run=True, max_pixels=9)
    shown = list(_plan_lines(known, replace(EXPECTED, kept=1_234, requests=1), paced))
    assert shown[:3] == [
        "mc clean · m",
        "  1 request (1,234 answered before) · 1 image · 2.5 MB to send",
        "  megabytes are those of the files; images that are encoded again have other sizes",
    ]
    assert shown[5:] == [
        "  every question fits into 8,192 tokens (as the server says), the longest reply included",
        "  2 s at 0.5 questions/s",
        "  at most $6.05: $6.00 for prompts, $0.05 for the longest replies",
    ]
    long = tuple(Overflow(question_id=f"q{number}", tokens=9_000 + number) for number in range(12))
    names = tuple(f"{number}.png" for number in range(11))
    batched = RunSettings(batch_command="x {input} {output}", batch_mb=1.5, batch_lines=1_000)
    shown = list(_plan_lines(known, replace(EXPECTED, overflows=long, unreadable=names, batches=1), batched))
    worst = ", ".join(f"q{number} ({9_000 + number:,})" for number in range(11, 1, -1))
    assert shown[4:7] == [
        "  12 questions beyond 8,192 tokens (as the server says), the longest reply included: "
        f"{worst} and 2 more (--json has all)",
        f"  11 files can't be read as images: {', '.join(names[:10])} and 1 more (--json has all)",
        "  1 batch file of at most 1.5 MB and 1,000 questions",
    ]
    until = list(_plan_lines(known, replace(EXPECTED, batches=2), RunSettings(batch=True)))[5]
    most = "  2 batch files of at most 90 MB and 50,000 questions; those made now end by"
    next_day = datetime.now().astimezone() + timedelta(hours=24)
    minutes = (next_day - timedelta(minutes=1), next_day)  # it may have begun meanwhile
    assert until in [f"{most} {minute:%a %d %b %H:%M}" for minute in minutes]
    together = [
        "all 2 together",
        "  2,000 requests · 2 images · 5.0 MB to send",
        "  about 4,000,000 image tokens and 2,000,000 text tokens",
    ]
    two = [(known, EXPECTED, RunSettings())] * 2
    assert list(_total_lines(two, 2.0)) == [*together, "  16 min 40 s at 2 questions/s", "  at most $112.00"]
    assert list(_total_lines([(RUN, EXPECTED, RunSettings())] * 2, None)) == together


def test_a_run_without_a_reply_says_so_and_a_large_one_has_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    overall = replace(TALLY, total=20_001, answered=0)
    counted = [
        replace(
            report(DeclaredSummary(**SUMMARY | {"overall": overall, "status_counts": statuses}, totals={})), expected=n
        )
        for statuses, n in (({}, 20_002), ({"ok": 0, "timeout": 1_001, "refused": 2}, 20_001))
    ]
    failing, batched = RunSettings(ok_with_failures=True), RunSettings(batch=True, no_wait=True)
    assert [exit_code_for(settings, counted[:1]) for settings in (RunSettings(), failing, batched)] == [3, 3, 1]
    assert [exit_code_for(settings, counted[1:]) for settings in (RunSettings(), failing, batched)] == [3, 3, 3]
    none, some = (
        f"error: no question got a reply: {why}\n"
        for why in ("none was asked, or its result belongs to another run", "1,001 timeout, 2 refused")
    )
    assert capsys.readouterr().err == none * 2 + some * 3
    write_pages(counted[:1])
    assert capsys.readouterr().err == "too many questions for a page by default; vqa-client report . writes it\n"


def test_written_batches_and_shards_are_a_line_each() -> None:
    written = Written(title="mc clean", model="m o", files={Path("a.jsonl"): 1_000, Path("b.jsonl"): 1}, left_out=())
    command = (
        "for example: vllm run-batch -i a.jsonl -o a.out.jsonl --model 'm o'; then `vqa-client batch read` with the"
    )
    files = ["a.jsonl: 1,000 questions", "b.jsonl: 1 question"]
    assert _file_lines(written) == [*files, f"{command} same options"]
    lost = replace(written, left_out=("q1", "q2", "q3", "q4"))
    assert _file_lines(lost)[2] == "4 questions can't be asked: q1, q2, q3"
    assert _file_lines(replace(written, files={})) == ["mc clean: nothing is left to ask"]
    asked = report(DeclaredSummary(**SUMMARY, totals={}))
    shown = f"{asked.log}: 4 of 1,004 questions asked, 1 failed"
    assert shard_lines([replace(asked, expected=1_004)] * 2) == [shown] * 2


def test_after_a_signal_to_one_judge_no_other_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(run: RunSettings) -> int:
        asked.append(run)
        raise Stopped(signal.SIGINT, ())

    asked: list[RunSettings] = []
    monkeypatch.setattr(evaluate, "judges_of", lambda run: ("judge",))
    monkeypatch.setattr(evaluate, "until_signalled", lambda work, progress: [])
    monkeypatch.setattr(judge, "judge_after", stopped)
    with pytest.raises(Stopped) as caught:
        evaluate.evaluate_several([RunSettings(), RunSettings()], lambda reports, pages, others: None)
    assert (caught.value.code, len(asked)) == (130, 1)
