"""Finished runs to judge, made from answers in a file, and judges that follow a script."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import answer
from vqa_client.answers.of_benchmark import score_answers
from vqa_client.cli.main import run_command
from vqa_client.settings.score import AnswersSettings
from vqa_client.tasks import registry

BENCHMARK = '''
"""Capitals, in words of one's own, of which the rule reads no sentence, or as a choice."""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Form, Judge, Metric, Question, MEAN, Total, choice, tables, whole_reply


class Row(Struct):
    id: str
    text: str
    answer: str
    options: list[str] = []


def question(row, place):
    return Question(
        id=row.id,
        text=row.text,
        choices=dict(zip("ABCD", row.options)),
        references=(row.answer,),
        cluster=f"c{int(row.id[1:]) // 2}",
    )


def read(reply, question):
    return (choice if question.choices else whole_reply)(reply, question)


BENCHMARK = Benchmark(
    name="capitals",
    load=tables(Row, Form("rows.jsonl"), question=question),
    prompt="{question}\\n{choices}" if LABELS else "{question}",
    parse=read,
    metrics=(Metric("exact", lambda said, question: float(said in question.references)),),
    totals=(Total("of_all", MEAN),),
    judge=JUDGE,
    labels=LABELS,
)
'''
_FENCED = re.compile(r"<<<(\w+) ([0-9a-f]{6})>>>\n(.*?)\n<<<end \2>>>", re.DOTALL)


class Run:
    """A run of `len(replies)` questions `q0`..., the reference of question n being "city n", or a choice.

    Without replies there is only the benchmark, which `judge` is declared in.
    """

    def __init__(self, root: Path, replies: list[str], *, choices: bool = False, judge: str = "None") -> None:
        self.root, self.log = root, root / "out" / "capitals.records.jsonl"
        root.mkdir(parents=True, exist_ok=True)
        labels = str(tuple("ABCD") if choices else ())
        (root / "capitals.py").write_text(BENCHMARK.replace("JUDGE", judge).replace("LABELS", labels))
        rows = [
            {
                "id": f"q{n}",
                "text": f"What is the capital of land {n}?",
                "answer": "ABCD"[n % 4] if choices else f"city {n}",
            }
            | ({"options": [f"town {n}{letter}" for letter in "abcd"]} if choices else {})
            for n in range(len(replies))
        ]
        self.lines("rows.jsonl", rows)
        self.lines("answers.jsonl", [{"question_id": f"q{n}", "answer": said} for n, said in enumerate(replies)])
        if replies:
            name = str(root / "capitals.py")
            data = registry.find(name).settings(data=root, output=root / "out").named(name)
            given = AnswersSettings(predictions=root / "answers.jsonl", model="secret-model")
            score_answers(data, given, lambda _: None)

    def lines(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Write a file of rows."""
        (self.root / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def judged(self, base_url: str, *more: str, check: bool = True) -> int:
        """The exit code of `vqa-client judge`."""
        return run_command(
            ["judge", str(self.log), "--base_url", base_url, "--check" if check else "--no-check", *more]
        )

    def found(self, kind: str) -> dict[str, Any]:
        """The report of all judges beside the rule."""
        found: dict[str, Any] = json.loads((self.log.parent / f"capitals.judged-{kind}.json").read_text())
        return found

    def records(self, kind: str, judge: str = "") -> dict[tuple[str, str], dict[str, Any]]:
        """A judge's records by question and variant."""
        path = self.log.parent / f"capitals.judge-{kind}{judge and '-' + judge}.records.jsonl"
        return {(one["question_id"], one["variant"]): one for one in map(json.loads, path.read_bytes().splitlines())}

    def config(self, name: str, base_url: str) -> str:
        """A judge's config."""
        path = self.root / f"{name}.json"
        path.write_text(json.dumps({"model_name": name, "max_tokens": 64, "temperature": 0, "base_url": base_url}))
        return str(path)


def material(prompt: str) -> dict[str, str]:
    """The texts between the fences of a judge's prompt, by name."""
    return {name: text for name, _, text in _FENCED.findall(prompt)}


def honest(received: Received) -> str:
    """A judge that only reads the first line of the reply."""
    shown = material(received.prompt)
    reference = shown.get("reference", "").partition("\n")[0]
    said = {name: shown[name].partition("\n")[0].rstrip(".") for name in ("reply", "first", "second") if name in shown}
    right = {name: text.endswith(reference) for name, text in said.items()}
    if "first" in shown:
        return f"VERDICT: {'equal' if right['first'] == right['second'] else 'first' if right['first'] else 'second'}"
    if "reference" not in shown:
        found = re.search(r"\b([A-D])\b", said["reply"]) or re.search(r"((?:city|town) \w+)", said["reply"])
        return f"VERDICT: {found[1] if found else 'none'}"
    if "from 0" in received.prompt.partition("<<<")[0]:
        return f"VERDICT: {10 if right['reply'] else 0}"
    return f"I compare them.\nVERDICT: {'correct' if right['reply'] else 'incorrect'}"


def obedient(received: Received) -> str:
    """A judge that repeats the last verdict in the material."""
    ordered = re.findall(r"^VERDICT: .*$", "\n".join(material(received.prompt).values()), re.MULTILINE)
    return ordered[-1] if ordered else honest(received)


def first_label(received: Received) -> str:
    """A judge that gives the first label of the prompt."""
    offered = re.search(r"exactly one of: (VERDICT: [^|\n]+)", received.prompt)
    return offered[1].strip() if offered else ""


def on_judgements(then: Script) -> Callable[[Received], Script]:
    """A judge that passes its controls, and follows another script for judgements."""
    return lambda received: answer(honest) if "The answer is " in received.prompt else then


def counts(found: Mapping[str, Any], at: int = 0) -> tuple[int, int, int]:
    """The numbers of judged, undecided and missing replies."""
    verdicts = found["verdicts"][at]
    return verdicts["judged"], verdicts["undecided"], verdicts["no_reply"]
