"""A user's own benchmark: the file in the docs, a package with an entry point, and wrong files."""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.forms import draw
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from vqa_client import own_code
from vqa_client.cli.main import run_command
from vqa_client.errors import UsageError
from vqa_client.tasks import registry
from vqa_client.tasks.listing import declared

PAGE = Path(__file__).parents[2] / "docs/own-benchmark.md"
OPTIONS = '''
"""Colours."""
from dataclasses import dataclass
from typing import Annotated

from vqa_client.benchmark import ASKS, READS, Benchmark, BenchmarkSettings, Metric, short_answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Options(BenchmarkSettings):
    shade: Annotated[str, ASKS] = "any"
    strict: Annotated[bool, READS] = False
    verbose: bool = False


def benchmark(options: Options) -> Benchmark:
    metric = Metric("m", lambda answer, question: 1.0)
    return Benchmark(name="colours", load=lambda source: [], parse=short_answer, metrics=(metric,))
'''


def receipts(folder: Path) -> Path:
    """The file in the docs, and its data beside it."""
    code = re.search(r'```python\n("""Receipts.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code
    rows = [{"photo": f"{n}.png", "total": f"{n}2.40", "shop": ("Corner", "Mall")[n % 2]} for n in range(1, 5)]
    (folder / "receipts").mkdir()
    for n in range(1, 5):
        (folder / "receipts" / f"{n}.png").write_bytes(draw(n))
    (folder / "receipts/receipts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "receipts.py"
    path.write_text(code[1], encoding="utf-8")
    return path


def test_the_readmes_file_is_at_most_fifty_lines(tmp_path: Path) -> None:
    assert len(receipts(tmp_path).read_text().splitlines()) <= 50


def test_the_readmes_file_is_asked_shown_and_scored_again_when_it_changes(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    path = receipts(tmp_path)
    data, out = ["--data", str(tmp_path / "receipts")], str(tmp_path / "out")
    assert run_command(["selftest", str(path), *data]) == 0
    server = fault_server("The total is 12.4")
    run = ["run", str(path), *data, "-o", out, "--base_url", server.base_url, "--no-html"]
    assert run_command(run) == 0
    shown = capsys.readouterr().out
    assert "accuracy in % (relaxed)" in shown
    assert "by shop" in shown
    assert "answered" in shown
    report = json.loads((tmp_path / "out/receipts.json").read_text())
    assert report["totals"]["answered"]["relaxed"]["value"] == 1
    asked = len(server.chats)
    path.write_text(path.read_text().replace("best_of(relaxed)", "lambda said, question: 0.5"))
    assert run_command(run) == 0
    assert len(server.chats) == asked
    assert json.loads((tmp_path / "out/receipts.json").read_text())["accuracy"] == 0.5
    rows = tmp_path / "receipts/receipts.jsonl"
    capsys.readouterr()
    for times, more in ((2, ""), (3, "and 2 more\n")):
        rows.write_text("".join(f'{{"photo": "1.png", "total": "{n}", "shop": "Mall"}}\n' for n in range(4 * times)))
        assert run_command(["selftest", str(path), *data]) == 1
        faults = "".join(f"receipts#{n}: '{n}': relaxed is 0.5\n" for n in range(min(10, 4 * times)))
        assert capsys.readouterr().out == f"{faults}{more}{4 * times} of {4 * times} questions fail\n"


def test_the_readmes_file_scores_answers_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, answers = receipts(tmp_path), tmp_path / "answers.jsonl"
    answers.write_text("".join(f'{{"question_id": "receipts#{n}", "answer": "{n + 1}2.4"}}\n' for n in range(3)))
    score = ["score", "--task", str(path), "-p", str(answers), "--data", str(tmp_path / "receipts")]
    assert run_command([*score, "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "by shop" in shown.out
    assert "1 question (receipts#3) without a prediction, not scored" in shown.err
    report = json.loads((tmp_path / "out/receipts.json").read_text())
    assert (report["accuracy"], report["totals"]["answered"]["relaxed"]["value"]) == (1, 1)
    assert report["left_out"] == {"no_prediction": ["receipts#3"]}
    answers.write_text('{"question_id": "receipts#0", "answer": null, "status": "timeout"}\n')
    assert run_command([*score, "-o", str(tmp_path / "failed")]) == 1


def test_questions_without_an_answer_among_others_are_counted_in_a_note(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = receipts(tmp_path), tmp_path / "receipts/receipts.jsonl"
    rows.write_text(rows.read_text().replace('"12.40"', '""'))
    run = ["run", str(path), "--data", str(rows), "-o", str(tmp_path / "out"), "--no-html"]
    assert run_command([*run, "--base_url", fault_server("22.40").base_url]) == 0
    assert "1 of 4 questions have no answer in the data, and count as wrong" in capsys.readouterr().err
    assert json.loads((tmp_path / "out/receipts.json").read_text())["accuracy"] == 0.25


def test_a_run_of_a_file_that_is_gone_is_still_shown(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    path = receipts(tmp_path)
    out = str(tmp_path / "out")
    server = fault_server(oracle({"total": "12.40"}))
    assert (
        run_command(["run", str(path), "--data", str(tmp_path / "receipts"), "-o", out, "--base_url", server.base_url])
        == 0
    )
    path.unlink()
    capsys.readouterr()
    assert run_command(["report", out, "--html", "--md"]) == 0
    assert "accuracy (relaxed)" in capsys.readouterr().out
    assert "a number within 5 %" in (tmp_path / "out/receipts.html").read_text()
    assert run_command(["rescore", out]) == 2
    gone = "receipts.py does not exist, which declares the run's benchmark\nhint: start in the folder in which"
    assert gone in capsys.readouterr().err


def test_a_package_adds_a_benchmark_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "colours_module.py").write_text(OPTIONS)
    info = tmp_path / "colours-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: colours\nVersion: 1.0\nSummary: Names of colours\n")
    points = "colours = colours_module\nlost = lost_module.inner\n"
    (info / "entry_points.txt").write_text(f"[vqa_client.benchmarks]\n{points}")
    monkeypatch.syspath_prepend(tmp_path)
    declared.cache_clear()
    assert run_command(["list"]) == 0
    assert re.search(r"^colours +Names of colours$", capsys.readouterr().out, re.MULTILINE)
    assert "colours_module" not in sys.modules
    entry = registry.find("colours")
    settings = entry.settings(shade="red", strict=True, verbose=True).named("colours")
    digest = hashlib.sha256(OPTIONS.encode()).hexdigest()
    assert (entry.identity(settings), entry.scoring(settings)) == ({"shade": "red"}, {"file": digest, "strict": "True"})
    assert entry.settings_from({"output": "out", "shade": "red", "strict": "True"}, as_given=False).strict is True
    assert run_command(["run", "colours", "--help"]) == 0
    assert "--shade" in capsys.readouterr().out
    assert run_command(["run", "lost", "--data", "x"]) == 2
    said = (
        "the entry point of 'lost' names the module lost_module.inner, and there is no lost_module\nhint: mend the en"
    )
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("offers", ["", "labels=('A', 'B')", "pages=Pages()", "labels=('A', 'B'), pages=Pages()"])
def test_a_file_offers_the_options_of_what_it_declares_under_its_title(
    offers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = f'load=lambda source: [], parse=choice, metrics=(Metric("m", best_of(equal)),), {offers}'
    imports = "from vqa_client.benchmark import Benchmark, Metric, Pages, best_of, choice, equal"
    (tmp_path / "shades.py").write_text(
        f'"""Shades of grey.\n\nMore."""\n{imports}\n\nBENCHMARK = Benchmark(name="shades", {declared})\n'
    )
    assert run_command(["run", str(tmp_path / "shades.py"), "--help"]) == 0
    shown = capsys.readouterr().out
    assert "[OPTIONS]\n\nShades of grey.\n\n" in shown
    assert ("--circular " in shown, " --pages " in shown) == ("labels" in offers, "pages" in offers)


@pytest.fixture(autouse=True)
def _other_packages() -> Iterator[None]:
    yield
    declared.cache_clear()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("chartka", None, "did you mean chartqa?"),
        ("lost.py", None, "lost.py does not exist"),
        ("empty.py", "", "declares no benchmark"),
        ("bare.py", "def benchmark(options): ...", "no options that extend BenchmarkSettings"),
        (
            "needs.py",
            OPTIONS.replace('shade: Annotated[str, ASKS] = "any"', "shade: str"),
            "the option shade has no default",
        ),
    ],
)
def test_a_file_without_a_benchmark_is_refused(
    name: str, text: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(name).write_text(text)
    with pytest.raises(UsageError) as caught:
        registry.find(name)
    assert told in f"{caught.value}; {caught.value.hint}"


PARSED = (
    "the reading of question 'receipts#0' is '12.40' (receipts.py, line 35)\nhint: return Answer(text='...'), "
    "or Answer(status='unparsed') where the reply has no answer\n"
)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("parse=short_answer", "parse=lambda reply, question: reply.nothing", "raises AttributeError\nTraceback"),
        ("best_of(relaxed), ", "lambda answer, question: 1 / 0, ", "division by zero\nquestion receipts#0\nhint: mend"),
        ("    return Question(", "    row.lost\n    return Question(", "receipts.jsonl: row 1\nhint: mend the file\n"),
        ("parse=short_answer", "parse=lambda reply, question: reply.text", PARSED),
        (
            "best_of(relaxed), ",
            "lambda answer, question: 2, ",
            "returns 2 for question 'receipts#0' (receipts.py, line 36)\nhint: return a number from 0 to 1, or None ",
        ),
        ("best_of(relaxed), ", "lambda answer, question: float('nan'), ", "relaxed returns nan for question"),
        ("best_of(relaxed), ", "lambda answer, question: '1', ", "relaxed returns '1' for question"),
        ("return Question(", "return dict(", "row 1: it makes 'id', which is not a Question"),
        ("return Question(", "made = Question(", "row 1: it makes None, which is not a Question"),
        (
            "(row.total,)",
            "row.total",
            "row 1: its Question has a wrong type: Expected `array`, got `str` - at `$.refer",
        ),
        ('"shop": row.shop', '"shop": 3', "Expected `str | array`, got `int` - at `$.groups[...]`"),
        (
            '"{question}\\nReply with the number alone."',
            "lambda question: None",
            "prompt of question 'receipts#0' is None (receipts.py, line 34)\nhint: return a text\n",
        ),
        ('breakdowns=("shop",)', 'headline="exact"', "receipts has no metric or total 'exact'"),
        ('"questions with an answer"', '"", on=("exact",)', "receipts has no metric or total 'exact'"),
        (
            "metrics=(Metric",
            'metrics=(Metric("relaxed", best_of(relaxed)), Metric',
            "two metrics or two totals 'relaxed'",
        ),
    ],
)
def test_a_mistake_in_a_benchmarks_file_is_named_with_its_place(
    before: str, after: str, said: str, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    path, server = receipts(tmp_path), fault_server("12.40")
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    run = ["run", str(path), "--data", str(tmp_path / "receipts"), "-o", str(tmp_path / "out"), "--max_workers", "1"]
    assert run_command([*run, "--base_url", server.base_url]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "vqa_client/cli" not in shown


TOTAL = '"answered", Sums(answered, lambda n, of: n / of)'


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ('"{question}\\nReply with the number alone."', "lambda question: question.lost", 2, "question.lost"),
        ("best_of(relaxed), ", "lambda answer, question: None, ", 2, "of receipts returns a score\nhint: does its"),
        ("return scored.answer is not None, 1", "return scored.lost, 1", 2, "scored.lost"),
        (TOTAL, '"shops", mean_over("shop")', 0, "4 questions: every score is 1\n"),
        (TOTAL, '"malls", mean_over("mall")', 0, "totals in which no question counts: malls\n4 questions: every"),
        (
            '("shop",)',
            '("shop", "town")',
            0,
            "breakdowns by groups that no question has: town\n4 questions: every score",
        ),
    ],
)
def test_selftest_makes_each_prompt_its_ideal_reply_and_scores_and_the_totals(
    old: str, new: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = receipts(tmp_path)
    text = path.read_text().replace("import best_of, ", "import best_of, mean_over, ")
    assert old in text
    path.write_text(text.replace(old, new))
    assert run_command(["selftest", str(path), "--data", str(tmp_path / "receipts")]) == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
    assert ("no question counts" in shown.out) == ("malls" in new)


@pytest.mark.parametrize("score", ["answer == '12.40'", "1 + 2e-16", "__import__('fractions').Fraction(1)"])
def test_a_metric_may_return_true_or_false_any_kind_of_number_and_a_sum_that_is_rounded_up(
    score: str, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    path, server = receipts(tmp_path), fault_server("12.40")
    path.write_text(path.read_text().replace("best_of(relaxed), ", f"lambda answer, question: {score}, "))
    run = ["run", str(path), "--data", str(tmp_path / "receipts"), "-o", str(tmp_path / "out"), "--no-html"]
    assert run_command([*run, "--base_url", server.base_url]) == 0
    assert json.loads((tmp_path / "out/receipts.json").read_text())["accuracy"] == pytest.approx(1)


@pytest.mark.parametrize("more", [(), ("--shots", "2", "--shots_from", "train")])
def test_a_benchmark_without_data_parts_is_an_error(
    more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "colours.py"
    path.write_text(OPTIONS)
    for command in ("run", "selftest"):
        assert run_command([command, str(path), "-o", str(tmp_path / "out"), *more]) == 2
        said = "colours loads no part of its data\nhint: its load gives one Part or more\n"
        assert capsys.readouterr().err.endswith(said)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ('{"photo": "1.png"}', "row 1: field `total` is missing"),
        ('{"photo": "1.png", "total": {"a": 1}}', "row 1: Expected `str`, got `object` - at `total`"),
        ('{"photo": "../../secret.png", "total": "1"}', "is outside"),
        ('{"photo": "gone.png", "total": "1"}', "no image was found"),
        ("[1]", "row 1: Expected `object`, got `int`"),
        ("", "is empty"),
    ],
)
def test_a_wrong_row_is_named_before_anything_is_asked(
    rows: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = receipts(tmp_path)
    (tmp_path / "receipts/receipts.jsonl").write_text(rows)
    assert run_command(["run", str(path), "--data", str(tmp_path / "receipts"), "-o", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "file", "column"),
    [("docvqa", "val_v1.0.json", "image"), ("infovqa", "infographicsVQA_val_v1.0.json", "image_local_name")],
)
@pytest.mark.parametrize("image", ["", None])
def test_a_question_without_its_image_is_named_before_anything_is_asked(
    name: str, file: str, column: str, image: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"questionId": 7, "question": "?", "answers": ["a"], "image_url": "u", column: image}
    row |= {"ucsf_document_id": "a", "ucsf_document_page_no": "1"}
    (tmp_path / file).write_text(json.dumps({"data": [row]}))
    assert run_command(["run", name, "--data", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert f"row 1: field `images` is missing (column `{column}`)" in shown


def test_only_a_benchmarks_own_file_has_its_digest_in_what_scores_a_run() -> None:
    for name in ("chartqa", "mmmu", "pope", "vqa2"):
        shipped = registry.find(name)
        assert (shipped.sha256, "file" in shipped.scoring(shipped.settings())) == ("", False)
    package = str(Path(registry.__file__).parents[1])
    files = [f"{package}{rest}" for rest in ("/task.py", "/tasks/pope.py", "_tasks/pope.py")]
    assert list(map(own_code.is_ours, files)) == [True, True, False]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("mc", {key: value}) for key, value in (("limit", 3), ("blacklist", "ids.txt"), ("repeat", 3))),
        *(("mc", {key: True}) for key in ("circular", "shuffle_choices", "blind")),
        ("pope", {"sample": 5, "by": "kind"}),
        ("mmlongbench-doc", {"pages": "evidence"}),
    ],
)
def test_a_run_is_read_again_with_all_of_its_data(name: str, given: dict[str, Any]) -> None:
    of, file = registry.find(name), {"data": "a", "images": "b"}
    whole = of.settings_from(file, as_given=False)
    assert of.settings_from(file | given, as_given=False) == whole
    assert of.settings_from(file | given, as_given=True) != whole
