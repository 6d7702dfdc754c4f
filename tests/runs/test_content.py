"""Whole runs of a small benchmark with images between words, a system message and worked examples."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from vqa_client.benchmark import Benchmark, Metric, Question, whole_reply
from vqa_client.cli.main import run_command
from vqa_client.evaluation import arun
from vqa_client.runs.shots import Draw
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.robustness import RobustnessRun

FILE = '''
"""Shapes."""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Form, Metric, Picture, Prompt, Question, Shots
from vqa_client.benchmark import numbered, tables, whole_reply


class Row(Struct):
    name: str
    text: str
    answer: str
    images: tuple[Picture, ...] = ()
    kind: str = ""


def question(row, place):
    groups = {"kind": row.kind}
    return Question(
        id=row.name, text=numbered(row.text), images=row.images, references=(row.answer,), groups=groups
    )


BENCHMARK = Benchmark(
    name="shapes",
    load=tables(Row, Form("{split}.json"), question=question),
    prompt=Prompt("Look: {question}", images="marked"),
    prompt_forms={
        "short": Prompt("{question}", system="Be short.", max_tokens=7),
        "parts": Prompt(lambda question: (question.text, 1)),
    },
    shots=Shots("dev", same="kind"),
    parse=whole_reply,
    metrics=(Metric("accuracy", lambda said, question: float(said == question.references[0])),),
)
'''
DEV = [
    {"name": f"{kind}{number}", "text": f"<image> {kind} {number}", "answer": f"{kind}-{number}", "images": ["9.png"]}
    | {"kind": kind}
    for kind in ("old", "new")
    for number in range(5)
]


class Shapes:
    """The benchmark's file and data in a folder, and how it is run."""

    def __init__(self, root: Path, starts: StartsServers, text: str = "[[q1]] Is <image> like <image>?") -> None:
        self.root, self.out = root, root / "out"
        for number in (1, 2, 3, 9):
            Image.new("RGB", (24, 16), (number, 90, 120)).save(root / f"{number}.png")
        (root / "shapes.py").write_text(FILE)
        rows = [
            {"name": "a", "text": "[[q0]] What?", "answer": "yes", "images": ["1.png"], "kind": "old"},
            {"name": "b", "text": text, "answer": "yes", "images": ["1.png", "2.png", "3.png"], "kind": "new"},
        ]
        (root / "test.json").write_text(json.dumps(rows))
        (root / "dev.json").write_text(json.dumps(DEV))
        self.server = starts(oracle({"[[q0]]": "yes", "[[q1]]": "yes"}))

    def run(self, *more: str) -> int:
        fixed = ["run", str(self.root / "shapes.py"), "--data", str(self.root), "-o", str(self.out), "--no-html"]
        return run_command([*fixed, "--base_url", self.server.base_url, "--no-check", *more])

    def records(self) -> dict[tuple[str, str], dict[str, Any]]:
        lines = next(self.out.glob("*.records.jsonl")).read_text().splitlines()
        return {(each["question_id"], each["variant"]): each for each in map(json.loads, lines)}

    def sent(self) -> list[list[tuple[str, object]]]:
        """The messages of each request, in the order of their texts; an image is the number in its file's name."""
        urls = {base64.b64encode((self.root / f"{n}.png").read_bytes()).decode(): n for n in (1, 2, 3, 9)}

        def short(message: dict[str, Any]) -> tuple[str, object]:
            content = message["content"]
            if isinstance(content, str):
                return message["role"], content
            parts = [each.get("text") or urls[each["image_url"]["url"].partition(",")[2]] for each in content]
            return message["role"], parts

        return sorted(([short(each) for each in chat.json["messages"]] for chat in self.server.chats), key=str)


BENCHMARK = Benchmark(
    name="drawn", load=lambda source: [], parse=whole_reply, metrics=(Metric("m", lambda said, question: 1.0),)
)
B_MARKED = "Look: [[q1]] Is <image 1> like <image 2>?"
B_SENT = [3, "Look: [[q1]] Is ", 1, " like ", 2, "?"]


def test_images_are_sent_at_their_marks_and_the_record_shows_the_marks(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    assert shapes.run() == 0
    assert shapes.sent() == [[("user", [1, "Look: [[q0]] What?"])], [("user", B_SENT)]]
    records = shapes.records()
    assert records["a", ""]["prompt"] == "Look: [[q0]] What?"
    assert records["b", ""]["prompt"] == f"<image 3>{B_MARKED}"
    assert [image["name"] for image in records["b", ""]["images"]] == ["1.png", "2.png", "3.png"]
    assert not {"system", "shots"} & records["b", ""].keys()
    assert shapes.run() == 0
    assert len(shapes.server.chats) == 2
    capsys.readouterr()
    assert run_command(["parse", str(shapes.out), "--explain", "b"]) == 0
    assert f"<image 3>{B_MARKED}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        (["--max_pages", "1"], [[1, "Look: [[q0]] What?"], ["Look: [[q1]] Is ", 1, " like <image 2>?"]]),
        (["--blind"], [B_SENT, [B_MARKED], ["Look: [[q0]] What?"], [1, "Look: [[q0]] What?"]]),
        (["--repeat", "2"], [B_SENT, B_SENT, [1, "Look: [[q0]] What?"], [1, "Look: [[q0]] What?"]]),
        (["--prompt_form", "parts"], [[1, "[[q0]] What?"], [2, 3, "[[q1]] Is <image 1> like <image 2>?", 1]]),
    ],
)
def test_other_forms_of_asking_keep_the_places_of_images(
    more: list[str], sent: list[list[object]], tmp_path: Path, fault_server: StartsServers
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    assert shapes.run(*more) == 0
    found = [content for [(_, content)] in shapes.sent()]
    if more[-1] == "parts":
        sent[0] = ["[[q0]] What?", 1]
    assert sorted(found, key=str) == sorted(sent, key=str)
    asked = len(shapes.server.chats)
    assert shapes.run(*more) == 0
    assert len(shapes.server.chats) == asked


@pytest.mark.usefixtures("in_threads")
async def test_corruptions_change_the_images_and_not_their_places(tmp_path: Path, fault_server: StartsServers) -> None:
    shapes = Shapes(tmp_path, fault_server)
    [report] = await arun(
        BenchmarkSettings(
            benchmark=str(tmp_path / "shapes.py"),
            data=tmp_path,
            output=shapes.out,
            base_url=shapes.server.base_url,
            check=False,
            shots=1,
        ),
        corrupted=RobustnessRun(corruptions="contrast", levels="0,1"),
    )
    assert report.summary.status_counts["ok"] == 4
    files = {(tmp_path / f"{n}.png").read_bytes(): n for n in (1, 2, 3, 9)}
    turns = [[files.get(image.data) for image in chat.images] for chat in shapes.server.chats]
    assert sorted(turns, key=str) == [[9, 1], [9, 3, 1, 2], [9, None, None, None], [9, None]]


def test_marks_move_with_shuffled_choices(tmp_path: Path, fault_server: StartsServers) -> None:
    shapes = Shapes(tmp_path, fault_server)
    file, text = tmp_path / "shapes.py", FILE
    for old, new in (
        ("id=row.name,", 'id=row.name, choices={"A": "<image 2>", "B": "<image 1>"},'),
        ("{question}", "{question}{choices}"),
        ("parse=whole_reply", 'parse=whole_reply, labels=("A", "B")'),
        ("(row.answer,)", '("A",)'),
    ):
        text = text.replace(old, new, 1)
    file.write_text(text)
    rows = [{"name": f"n{n}", "text": f"[[q1]]{n}: ", "answer": "", "images": ["1.png", "2.png"]} for n in range(8)]
    (tmp_path / "test.json").write_text(json.dumps(rows))
    assert shapes.run("--shuffle_choices") == 0
    filed, turned = ["A. ", 2, "\nB. ", 1], ["A. ", 1, "\nB. ", 2]
    for [(_, [first, *shown])] in shapes.sent():
        assert [first[-3:], *shown] in (filed, turned)
    found = shapes.records()
    right = {key[0]: each["references"] for key, each in found.items()}
    assert {tuple(each) for each in right.values()} == {("A",), ("B",)}
    for [(_, [first, *shown])] in shapes.sent():
        assert right[f"n{first[12]}"] == (["A"] if shown[0] == 2 else ["B"])


def test_a_mark_without_its_image_is_named_before_anything_is_asked(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server, "[[q1]] Is <image 4> odd?")
    assert shapes.run() == 2
    assert "question 'b' names image 4, and the number of its images is 3" in capsys.readouterr().err
    assert (shapes.server.chats, shapes.out.exists()) == ([], False)


def test_a_system_message_is_sent_kept_and_part_of_the_identity(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    config = tmp_path / "m.json"
    config.write_text(json.dumps({"model_name": "m", "max_tokens": 9, "system_prompt": "Be kind."}))
    assert shapes.run("--config", str(config)) == 0
    assert [messages[0] for messages in shapes.sent()] == [("system", "Be kind.")] * 2
    assert {each["system"] for each in shapes.records().values()} == {"Be kind."}
    assert shapes.run("--config", str(config), "--system", "Be kind.") == 0
    assert len(shapes.server.chats) == 2
    capsys.readouterr()
    assert shapes.run("--config", str(config), "--system", "Be strict.") == 2
    assert "system: 'Be kind.' in shapes.run.json, 'Be strict.' now" in capsys.readouterr().err
    assert shapes.run("--config", str(config), "--system", "") == 2
    assert "system: 'Be kind.' in shapes.run.json, None now" in capsys.readouterr().err
    assert run_command(["parse", str(shapes.out), "--explain", "a"]) == 0
    assert "system message:\n    Be kind." in capsys.readouterr().out
    assert run_command(["report", str(shapes.out), "--html"]) == 0
    assert "Be kind." in (shapes.out / "shapes.html").read_text()


def test_a_prompt_form_sets_the_prompt_the_system_message_and_the_token_limit(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    assert shapes.run("--prompt_form", "short", "--dry_run", "--context_length", "60") == 0
    estimate = capsys.readouterr().out
    assert "; replies have at most 7 each\n  every question fits into 60 tokens" in estimate
    assert shapes.run("--prompt_form", "short") == 0
    assert shapes.sent()[0] == [("system", "Be short."), ("user", [1, "[[q0]] What?"])]
    assert {chat.json["max_tokens"] for chat in shapes.server.chats} == {7}
    assert shapes.run() == 2
    assert "prompt_form: 'short' in shapes.run.json, None now" in capsys.readouterr().err
    assert shapes.run("--prompt_form", "long") == 2
    assert "it has short, parts" in capsys.readouterr().err


def test_a_token_limit_and_the_place_of_images_in_the_benchmarks_prompt_are_part_of_the_identity(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes, path = Shapes(tmp_path, fault_server), tmp_path / "shapes.py"
    path.write_text(path.read_text().replace('images="marked")', 'images="marked", max_tokens=7)'))
    assert shapes.run("--max_tokens", "9") == 0
    said = capsys.readouterr().err
    assert "shapes: its prompt limits replies to 7 tokens, and --max_tokens has no effect" in said
    assert ", max_tokens 7 (the benchmark's prompt), temperature 0\n" in said
    assert {chat.json["max_tokens"] for chat in shapes.server.chats} == {7}
    path.write_text(path.read_text().replace("max_tokens=7", "max_tokens=8", 1))
    assert shapes.run("--max_tokens", "9") == 2
    assert "parameters.max_tokens: 7 in shapes.run.json, 8 now" in capsys.readouterr().err
    path.write_text(path.read_text().replace('images="marked", max_tokens=8', 'images="last", max_tokens=7'))
    assert shapes.run("--max_tokens", "9") == 2
    assert "images_last: None in shapes.run.json, True now" in capsys.readouterr().err


def test_worked_examples_are_earlier_turns_of_the_same_group(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    assert shapes.run("--shots", "2") == 0
    for mark, kind in (("[[q0]]", "old"), ("[[q1]]", "new")):
        [messages] = [each for each in shapes.sent() if mark in str(each)]
        assert [role for role, _ in messages] == ["user", "assistant"] * 2 + ["user"]
        for (_, asked), (_, reply) in zip(messages[:4:2], messages[1:4:2], strict=True):
            assert asked == ["Look: ", 9, f" {kind} {str(reply)[-1]}"]
            assert str(reply).startswith(kind)
    shots = {key[0]: each["shots"] for key, each in shapes.records().items()}
    assert {name: {each[:3] for each in ids} for name, ids in shots.items()} == {"a": {"old"}, "b": {"new"}}
    assert shapes.run("--shots", "2") == 0
    assert len(shapes.server.chats) == 2
    capsys.readouterr()
    for more, told in (
        (["--shots", "3"], "shots.number: 2 in shapes.run.json, 3 now"),
        (["--shots", "2", "--seed", "7"], "shots.seed: 0 in shapes.run.json, 7 now"),
        (
            ["--shots", "6"],
            "question 'a' can have 5 worked examples of the same kind (old), not 6\n"
            "hint: lower --shots, or name larger data with --shots_from\n",
        ),
        (["--shots", "1", "--shots_from", "gone.json"], "gone.json does not exist"),
        (["--shots_from", "dev"], "--shots_from needs --shots"),
    ):
        assert shapes.run(*more) == 2
        assert told in capsys.readouterr().err
    assert run_command(["parse", str(shapes.out), "--explain", "a"]) == 0
    assert f"worked examples before the question: {', '.join(shots['a'])}" in capsys.readouterr().out


def test_a_dry_run_counts_worked_examples(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    assert shapes.run("--shots", "2", "--dry_run") == 0
    assert "2 requests · 8 images" in capsys.readouterr().out


def test_blind_questions_have_examples_without_images(tmp_path: Path, fault_server: StartsServers) -> None:
    shapes = Shapes(tmp_path, fault_server)
    assert shapes.run("--shots", "1", "--blind") == 0
    images = [sum(isinstance(part, int) for _, parts in each for part in parts) for each in shapes.sent()]
    assert sorted(images) == [0, 0, 2, 4]


def test_examples_need_a_file_if_the_benchmark_declares_none(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, fault_server)
    file = tmp_path / "shapes.py"
    file.write_text(file.read_text().replace('    shots=Shots("dev", same="kind"),\n', ""))
    assert shapes.run("--shots", "1") == 2
    assert capsys.readouterr().err.endswith(
        "shapes doesn't declare where worked examples are from\n"
        "hint: --shots_from FILE names data of its form, or a split\n"
    )
    other = tmp_path / "more" / "test.json"
    other.parent.mkdir()
    other.write_text(json.dumps(DEV[:1]))
    (other.parent / "9.png").write_bytes((tmp_path / "9.png").read_bytes())
    assert shapes.run("--shots", "1", "--shots_from", str(other)) == 0
    assert all(messages[1] == ("assistant", "old-0") for messages in shapes.sent())
    assert shapes.run("--shots", "1", "--shots_from", "dev") == 2
    assert "shots.split: '' in shapes.run.json, 'dev' now" in capsys.readouterr().err


def question(name: str, text: str, image: str = "", group: str = "") -> Question:
    return Question(id=name, text=text, images=(image,) * bool(image), references=(name,), groups={"g": group})


def test_a_question_is_never_its_own_example_and_the_same_ones_are_drawn_again() -> None:
    pool = [question(f"p{number}", f"text {number % 30}", f"folder/{number}.png") for number in range(60)]
    draw = Draw(pool, BENCHMARK, 4, 0)
    drawn = {}
    for each in pool:
        again = replace(each, id="other", text=each.text.upper() + " ", images=(os.path.basename(each.images[0]),))
        for asked in (each, again):
            shots = [shot for shot, _ in draw(asked)]
            assert len({shot.id for shot in shots}) == 4
            assert all(shot.id != each.id and shot.text != each.text for shot in shots)
        drawn[each.id] = [shot.id for shot, _ in draw(each)]
    assert drawn == {each.id: [shot.id for shot, _ in Draw(pool, BENCHMARK, 4, 0)(each)] for each in pool}
    assert drawn != {each.id: [shot.id for shot, _ in Draw(pool, BENCHMARK, 4, 1)(each)] for each in pool}
    assert len({name for ids in drawn.values() for name in ids}) > 50


def test_a_question_without_a_known_answer_is_not_an_example() -> None:
    pool = [question("p1", "Which?"), replace(question("p2", "Where?"), references=())]
    assert [shot.id for shot, _ in Draw(pool, BENCHMARK, 2, 0)(question("q", "Why?"))] == ["p1"]


def test_the_same_text_with_other_images_is_drawn_last() -> None:
    pool = [question(f"p{number}", "Which one?", f"{number}.png") for number in range(4)] + [question("q", "Why?")]
    draw = Draw(pool, BENCHMARK, 3, 0)
    names = [shot.id for shot, _ in draw(pool[0])]
    assert (names[0], set(names) < {"q", "p1", "p2", "p3"}) == ("q", True)
    assert len(draw(replace(pool[0], images=()))) == 3
