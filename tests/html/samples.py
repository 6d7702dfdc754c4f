"""Invented runs on disk: small ones, hostile ones, and one of 20,000 records."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.types import Failure, Record, SentImage

DEPTHS = ("0-20%", "20-40%", "40-60%", "60-80%", "80-100%")
LENGTHS = ("<8k", "8k-16k", "16k-24k", ">=64k")
CORRUPTIONS = ("gaussian_noise", "zoom_blur", "snow")
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 2">',
    '"><svg onload="window.hacked = 3">',
    "<!--<script>",
    "\x1b[31mred\x1b[0m \x07bell",
    "safe \u202eexe.tab\u202c end",
    "javascript:window.hacked=4",
    "{{ 7 * 7 }}{% raw %}",
    "line\u2028separator\u2029 and \x00 NUL",
    "]]>&lt;b&gt;&amp;",
)


def record(number: int = 1, *, right: bool = True, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "question_id": f"q{number}",
        "status": "ok",
        "prompt": f"Which ship sank in harbour {number}?\n\nA. Ada\nB. Bee",
        "output": "The correct answer is (A).",
        "finish_reason": "stop",
        "answer": "A",
        "rule": "answer",
        "references": ("A",) if right else ("B",),
        "score": float(right),
        "parts": {"robust": float(right), "published": 0.0},
        "groups": {"difficulty": "easy" if number % 2 else "hard"},
        "prompt_tokens": 900,
        "completion_tokens": 5 + number % 7,
        "latency_s": 0.5 + number % 10 / 10,
        "attempts": 1,
        "request_bytes": 1000,
    }
    return Record(**(fields | changes))


def failed(number: int, status: str = "timeout", **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "question_id": f"q{number}",
        "status": status,
        "error": Failure(message="no reply within 60 s", body="<html>bad gateway</html>", http_status=502),
        "attempts": 5,
        "groups": {"difficulty": "hard"},
    }
    return Record(**(fields | changes))


def needles(count: int, seed: int = 1) -> list[Record]:
    """Needle questions over every depth and length; fewer are right in long contexts."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        depth, length = draw.choice(DEPTHS), draw.choice(LENGTHS)
        right = draw.random() < 0.97 - 0.2 * LENGTHS.index(length) - 0.06 * DEPTHS.index(depth)
        long = " ".join(f"word{draw.randrange(5000)}" for _ in range(60))
        groups = {"needle_depth": depth, "context_length": length, "difficulty": draw.choice(("easy", "hard"))}
        changes = {"groups": groups, "cluster": f"doc{number // 5}", "output": f"{long} so it is {number}."}
        found.append(record(number, right=right, latency_s=draw.lognormvariate(0, 0.7), **changes))
    return found


def corrupted(count: int, seed: int = 2) -> list[Record]:
    """The same questions clean and at every level of three corruptions."""
    draw = random.Random(seed)
    variants = [("clean", 0), *((name, level) for name in CORRUPTIONS for level in range(1, 6))]
    return [
        record(
            number,
            right=draw.random() < 0.8 - 0.1 * level,
            variant=f"{name}/{level}" if level else "clean",
            groups={"corruption": name, "level": str(level)},
        )
        for number in range(count)
        for name, level in variants
    ]


def hostile() -> list[Record]:
    """Records in which every text is an attack."""
    return [
        Record(
            question_id=f"{number} {text}",
            variant=text,
            status="ok",
            prompt=text,
            output=text * 3,
            reasoning=text,
            finish_reason=text,
            answer=text,
            rationale=text,
            rule=text,
            rivals=(text, "b"),
            references=(text,),
            score=0.0,
            parts={text: 0.5},
            groups={"kind": text, text: "x"},
            cluster=text,
            images=(SentImage(name=text, sha256="a" * 64, size_bytes=1, transforms=(text,)),),
            error=Failure(message=text, body=text, hint=text),
        )
        for number, text in enumerate(HOSTILE)
    ]


def facts(**described: Any) -> dict[str, Any]:
    """The content of a run file."""
    return {
        "identity": {"task": "mc", "variant": "clean", "model": {"model_name": "org/model-7b", "max_tokens": 1024}},
        "scoring": {"parser": "robust", "version": "1"},
        "described": {"settings": {"max_workers": 8, "limit": None}, "data_sha256": "ab" * 32} | described,
        "sessions": [
            {
                "started": "2026-11-28T03:45:51+00:00",
                "wall_s": 15.0,
                "questions": 8,
                "completion_tokens": 54,
                "loop_stall_max_s": 0.01,
            }
        ],
    }


def write_run(folder: Path, records: Iterable[Record], *, name: str = "clean_mc_eval", run: Any = None) -> Path:
    """Write a log and its run file, and give the log's path."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.records.jsonl"
    log.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in records))
    (folder / f"{name}.run.json").write_bytes(msgspec.json.encode(facts() if run is None else run))
    return log


def mixed() -> Sequence[Record]:
    """One hundred questions: 60 right, 20 wrong, 15 without a reply, 5 unparsed."""
    right = [record(number) for number in range(60)]
    wrong = [record(number, right=False) for number in range(60, 80)]
    lost = [failed(number) for number in range(80, 95)]
    unread = [
        record(number, right=False, status="unparsed", answer=None, rule="", output="Hm.") for number in range(95, 100)
    ]
    return [*right, *wrong, *lost, *unread]
