"""The whole messages and hints for data, files and options that a benchmark can't use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import benchmark_of
from vqa_client.errors import DataError, UsageError
from vqa_client.settings.declared import AskSettings
from vqa_client.settings.own_commands import McSettings, NiahSettings
from vqa_client.tables.data_file import read_index
from vqa_client.tables.inside import open_table
from vqa_client.tables.json_table import JsonTable
from vqa_client.tasks import registry
from vqa_client.tasks.ask.benchmark import write_benchmark
from vqa_client.tasks.ask.rows import tables_of
from vqa_client.tasks.ask.values import turns_of
from vqa_client.tasks.explain import dataset_of
from vqa_client.tasks.longbench import read_blacklist
from vqa_client.tasks.vqa2.data import find_files

LAYOUT = (
    "expected are v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json, or "
    "questions.json and annotations.json, beside images/; or give --questions_file, --annotations_file and --images"
)
OUT = Path("out")
FILES = {
    "empty.py": "",
    "plain.py": "def benchmark(options: int): ...\n",
    "required.py": (
        "from dataclasses import dataclass\n\nfrom vqa_client.benchmark import BenchmarkSettings\n\n\n"
        "@dataclass(frozen=True, kw_only=True)\nclass Options(BenchmarkSettings):\n    own: int\n\n\n"
        "def benchmark(options: Options): ...\n"
    ),
    "broken.py": "1 / 0\n",
    "latin.txt": "é",
    "test/v2_OpenEnded_mscoco_train2014_questions.json": "{}",
    "test/v2_OpenEnded_mscoco_test2015_questions.json": "{}",
    "bare/questions.json": "{}",
    "none/a.txt": "",
    "two/a.csv": "a\n1\n",
    "two/b.csv": "a\n1\n",
    "mixed.jsonl": '{"question": "a", "A": "x", "B": "y", "answer": "A"}\n{"question": "b", "answer": "z"}\n',
    "twice.csv": "a,b,a\n1,2,3\n",
    "a.pdf": "%PDF-1.7\n",
    "lists.json": '{"data": [{"a": 1}], "rows": [{"a": 2}]}',
    "coco.json": '{"images": [{"id": 1}], "annotations": [{"image_id": 2, "question": "a"}]}',
    "parts/p10.csv": "a\n1\n",
    "parts/p2.csv": "a\n1\n",
    "meta/metadata.jsonl": "{}\n",
    "meta/a.csv": "a\n1\n",
    "turns.jsonl": '{"messages": [{"role": "user", "content": "a"}], "answer": "b"}\n',
}


def _written(data: str) -> None:
    write_benchmark(AskSettings(data=Path(data), output=OUT), Path("made.py"), data)


def _niah(**given: Any) -> Any:
    return registry.find("niah").make(NiahSettings(output=OUT, **given)).load


ROWS: list[tuple[Callable[[], Any], str, str]] = [
    (
        lambda: registry.find("chartq"),
        "there is no benchmark 'chartq'",
        "did you mean chartqa? `vqa-client list` shows all; a file ends in .py",
    ),
    (
        lambda: registry.find("zzzzz"),
        "there is no benchmark 'zzzzz'",
        "`vqa-client list` shows all; a file ends in .py",
    ),
    (
        lambda: registry.find("no.py"),
        "no.py does not exist",
        "give the path of a file that declares a benchmark",
    ),
    (
        lambda: registry.find("empty.py"),
        "{here}/empty.py declares no benchmark",
        "it assigns BENCHMARK, or defines benchmark(options)",
    ),
    (
        lambda: registry.find("plain.py"),
        "{here}/plain.py: benchmark(options) takes no options that extend BenchmarkSettings",
        "class Options(BenchmarkSettings), and def benchmark(options: Options) -> Benchmark",
    ),
    (
        lambda: registry.find("required.py"),
        "{here}/required.py: the option own has no default",
        "give every option one",
    ),
    (lambda: read_blacklist("no.txt"), "blacklist no.txt does not exist", ""),
    (lambda: read_blacklist("latin.txt"), "blacklist latin.txt is not UTF-8", "save it as UTF-8, one id per line"),
    (
        lambda: registry.find("mc").make(McSettings(data=OUT, output=OUT, choice_mode="logprob", parser="published")),
        "--parser reads free text, and --choice_mode logprob has none",
        "leave --parser out",
    ),
    (
        lambda: benchmark_of("aokvqa", asked="direct", choice_mode="logprob"),
        "--choice_mode logprob: no question of aokvqa has choices",
        "leave it out",
    ),
    (
        lambda: _niah(input=OUT, data=OUT),
        "--input replaces --data and --images",
        "give one or the other",
    ),
    (
        lambda: _niah(input=OUT, images=OUT),
        "--input replaces --data and --images",
        "give one or the other",
    ),
    (
        lambda: _niah(images=OUT),
        "niah needs questions",
        "--data FILE with --images DIR, or --input DIR with both",
    ),
    (
        lambda: find_files(Path("bare")),
        "bare/questions.json has no annotations beside it",
        f"{LAYOUT}; --questions_file alone: unscored",
    ),
    (
        lambda: find_files(Path("test")),
        "test has no questions of val2014, but of test2015, train2014",
        "--questions_file FILE",
    ),
    (lambda: find_files(Path("no")), "no does not exist", f"--data FOLDER, or --mode sample; {LAYOUT}"),
    (lambda: find_files(Path("none")), "none has no questions of VQA 2.0", LAYOUT),
    (
        lambda: tables_of(Path("*.tsv")),
        "no file matches *.tsv",
        "quote the pattern, so that the shell leaves it alone",
    ),
    (lambda: tables_of(Path("a/b/c")), "a/b/c does not exist", "give a file, a folder or a quoted glob"),
    (lambda: tables_of(Path("own/set")), "own/set does not exist", "--data hf://own/set gets a dataset of this name"),
    (
        lambda: tables_of(Path("two")),
        "two has several data files: a.csv, b.csv",
        "name one of them, or a quoted glob",
    ),
    (lambda: open_table(Path("twice.csv")), "twice.csv: two columns are called 'a'", "rename one of them"),
    (
        lambda: list(open_table(Path("a.pdf")).rows()),
        "a.pdf is a PDF document: these are not rows",
        "give the file with the questions",
    ),
    (
        lambda: list(open_table(Path("lists.json")).rows()),
        "lists.json has several lists of rows: data, rows",
        "write the one to ask to a file of its own",
    ),
    (lambda: list(JsonTable(Path("lists.json"), "x").rows()), "lists.json has no key 'x'", "its keys are data, rows"),
    (lambda: list(open_table(Path("coco.json")).rows()), "coco.json: row 1: `images` has no id 2", ""),
    (
        lambda: read_index("hf://a/b"),
        "there is no file of the name hf://a/b",
        "this command reads a file on this disk; `vqa-client ask` and `run` read hf://OWNER/NAME",
    ),
    (lambda: dataset_of("vqx"), "unknown task 'vqx'", "known are vqax, actx, esnlive, vcr"),
    (lambda: dataset_of("vcr", "x"), "unknown VCR mode 'x'", "known are free, q2a, qa2r, q2ar"),
    (lambda: _written("mixed.jsonl"), "some rows have choices and some have none", "split them into two files"),
    (
        lambda: _written("turns.jsonl"),
        "--to writes the columns of a table, and this data has none",
        "copy a file of tasks/",
    ),
]
USER, ASSISTANT = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
SHOWN = {"role": "assistant", "content": [{"type": "image", "image": "1.png"}]}
TURNS = [
    ("[", "expected a list of turns, each with role and content"),
    ([1], "expected a list of turns, each with role and content"),
    ([], "there is no turn of the user to ask"),
    ([{"role": "system", "content": "a"}], "there is no turn of the user to ask"),
    ([USER, ASSISTANT, ASSISTANT], "two turns of the assistant end it"),
    ([ASSISTANT, USER], "turn 1 has the role 'assistant', and 'user' is expected"),
    ([USER, SHOWN, USER], "a turn of the assistant has an image"),
    ([{"role": "user", "content": 1}], "the content of a turn is a text, or a list of parts with a type each"),
    ([{"role": "user", "content": ["a"]}], "the content of a turn is a text, or a list of parts with a type each"),
    ([{"role": "user", "content": [{"type": "audio"}]}], "a part of a turn has the type 'audio'"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="latin-1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("made", "said", "hint"), ROWS, ids=[said for _, said, _ in ROWS])
def test_impossible_options_are_refused_with_a_hint(made: Callable[[], Any], said: str, hint: str, here: Path) -> None:
    with pytest.raises((DataError, UsageError)) as caught:
        made()
    assert str(caught.value) == said.replace("{here}", str(here))
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("parts/*.csv", ["p2.csv", "p10.csv"]),
        ("meta", ["metadata.jsonl"]),
        ("meta/a.csv", ["a.csv"]),
        ("none", ["images"]),
    ],
)
@pytest.mark.usefixtures("here")
def test_the_tables_of_a_source_are_in_natural_order(data: str, names: list[str]) -> None:
    assert [table.path.name for table in tables_of(Path(data))] == names


@pytest.mark.usefixtures("here")
def test_one_of_several_lists_is_read_by_its_key() -> None:
    assert list(JsonTable(Path("lists.json"), "rows").rows()) == [(0, {"a": 2})]


@pytest.mark.parametrize(("turns", "said"), TURNS)
def test_turns_that_are_not_a_conversation_are_named(turns: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        turns_of(turns)
