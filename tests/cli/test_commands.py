"""The commands as people type them, each in a process of its own."""

import importlib
import inspect
import json
import selectors
import shlex
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from cyclopts import App, ArgumentCollection, CycloptsError

from tests import forked, options_once
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import error, every_nth, oracle
from tests.runs.sample import Sample
from vqa_client.cli import commands
from vqa_client.cli.app import app
from vqa_client.cli.commands import COMMANDS
from vqa_client.cli.signals import MOST_EVENTS, FewEvents, resume_command
from vqa_client.version import __version__


def command(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return forked.run(words, text=True, **options)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(tmp_path, 8)


@pytest.mark.parametrize(
    ("words", "unused", "shown"),
    [
        ("--help", ("numpy", "openai", "matplotlib", "PIL", "httpx2"), "niah"),
        ("--version", ("cyclopts", "rich", "msgspec"), f"{__version__}\n"),
        ("list", ("cyclopts", "rich", "msgspec"), "pope"),
        (
            "report --htlm",
            ("rich", "vqa_client.html", "vqa_client.reports.summary"),
            "error: unknown option --htlm\nhint: did you mean --html?\n",
        ),
        ("serve --help", ("httpx2", "asyncio", "vqa_client.servers", "vqa_client.evaluation"), "mlx"),
        ("run pope --modle x", ("rich", "httpx2"), "error: unknown option --modle\nhint: did you mean --model?\n"),
        (
            "sevre",
            ("rich", "msgspec", "vqa_client.cli.serve", "vqa_client.cli.benchmark"),
            "error: unknown command 'sevre'\nhint: did you mean serve?\n",
        ),
        ("--versoin", ("rich", "msgspec"), "error: unknown command '--versoin'\nhint: did you mean --version?\n"),
        (
            "quiz",
            ("rich", "msgspec", "vqa_client.cli.serve", "vqa_client.cli.benchmark"),
            "error: unknown command 'quiz'\nhint: the commands are ask, run, list, suite, mc, niah, vqa2, explain, "
            "...\n",
        ),
        (
            "robustness vqa2",
            ("rich", "vqa_client.cli.robustness"),
            "error: unknown command 'vqa2'\nhint: the commands are generate, run, evaluate, plot\n",
        ),
    ],
)
def test_help_lists_and_mistakes_are_fast_because_they_import_little(
    words: str, unused: tuple[str, ...], shown: str
) -> None:
    code = (
        "import sys\nfrom vqa_client.cli.main import run_command\n"
        f"try:\n    run_command({words.split()!r})\nexcept SystemExit:\n    pass\n"
        f"print([m for m in sys.modules if m.startswith({unused!r})], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr.endswith("[]\n")
    assert shown in done.stdout + done.stderr


def test_a_command_imports_no_other_commands_benchmark() -> None:
    code = (
        "import sys, vqa_client.cli.evaluate\nfrom vqa_client.tasks import registry\nregistry.find('mc')\n"
        "print([m for m in sys.modules if m.startswith(('vqa_client.tasks.vqa2', 'vqa_client.tasks.explain',"
        " 'vqa_client.scoring.explanation_metrics', 'vqa_client.pages', 'vqa_client.plots', 'multiprocessing',"
        " 'vqa_client.client.check.examine'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plain_run_on_a_json_file_loads_nothing_that_it_does_not_use(
    sample: Sample, fault_server: StartsServers
) -> None:
    unused = (
        *("pydantic", "statistics", "tarfile", "jinja2", "vqa_client.html", "vqa_client.images.corruptions"),
        *("vqa_client.tables.delimited", "vqa_client.tables.parquet_table", "vqa_client.tables.tar_table"),
        *("vqa_client.cli.varied_tables", "vqa_client.cli.varied_tables", "vqa_client.reports.robustness"),
        *("vqa_client.scoring.robustness", "vqa_client.scoring.paired", "vqa_client.scoring.repeats"),
    )
    code = (
        "import sys\nfrom vqa_client.cli.main import run_command\nassert run_command(sys.argv[1:]) == 0\n"
        f"print([m for m in sys.modules if m.startswith({unused!r})], file=sys.stderr)"
    )
    server = fault_server(oracle(sample.replies()))
    words = sample.arguments(server.base_url, "--no_html")
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("spelling", ["--max_workers", "--max-workers"])
def test_both_spellings_of_an_option_work(spelling: str, sample: Sample, fault_server: StartsServers) -> None:
    server = fault_server(oracle(sample.replies()))
    done = command(*sample.arguments(server.base_url, spelling, "3"))
    assert (done.returncode, done.stderr.count("error")) == (0, 0)
    assert server.counts["in_flight_peak"] <= 3
    assert "100.0" in done.stdout
    assert "; intervals: Wilson" in done.stdout


def test_standard_output_has_only_json(sample: Sample, fault_server: StartsServers) -> None:
    server = fault_server(oracle(sample.replies()))
    done = command(*sample.arguments(server.base_url, "--json"))
    (row,) = json.loads(done.stdout)
    assert (row["variant"], row["overall"]["accuracy"], row["status_counts"]) == ("clean", 1.0, {"ok": 8})


def test_a_run_with_failed_questions_ends_with_1(sample: Sample, fault_server: StartsServers) -> None:
    server = fault_server(every_nth(4, error(422), "B"))
    done = command(*sample.arguments(server.base_url))
    assert done.returncode == 1
    assert "2 questions failed (rejected)" in done.stdout


def test_a_server_that_answers_nothing_ends_with_3(sample: Sample, fault_server: StartsServers) -> None:
    server = fault_server(error(422))
    done = command(*sample.arguments(server.base_url))
    assert done.returncode == 3
    assert "0.0" not in done.stdout
    assert "error: no question got a reply: 8 rejected\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mc"], "--data"),
        (["mc", "--data_json", "nowhere.json", "--text_only", "-o", "out"], "nowhere.json"),
        (["niah", "-o", "out"], "--data"),
        (["niah", "--input", "nowhere", "-o", "out"], "nowhere"),
        (["mc", "--data_json", "x", "-o", "out", "--max_workers", "0"], "--max_workers"),
        (["mc", "--data_json", "x", "-o", "out", "--parser", "lenient"], "parser"),
        (["mc", "--data_json", "x", "-o", "out", "--config", "qwen3"], "qwen3-vl"),
        (["mcc"], "mcc"),
        (["niah"], "--data"),
        (["selftest", "niah"], "--data"),
        (["robustness", "run", "--task", "mc"], "error: --data is missing\nhint: "),
        (["mc", "--input", "x", "-o", "out"], "--data is missing, and --input is not an option of this command"),
        (["niah", "-o", "out", "--prompt_template", "{question}"], "hint: the option is --prompt"),
        (["niah", "-o", "out", "--max_worker", "50"], "hint: did you mean --max_workers?"),
    ],
)
def test_a_wrong_command_line_is_one_clear_error_and_exit_code_2(words: list[str], told: str, tmp_path: Path) -> None:
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_unreachable_server_is_one_line_with_a_way_out(sample: Sample) -> None:
    done = command(*sample.arguments("http://127.0.0.1:9/v1", "--wait_for_server", "0.2"))
    assert done.returncode == 3
    assert "127.0.0.1:9" in done.stderr
    assert "hint: is the server running" in done.stderr
    assert not sample.output.exists()


def test_niah_reads_a_parent_folder(fault_server: StartsServers, tmp_path: Path) -> None:
    sample = Sample(tmp_path, 3, folders=("clean", "adv_jpeg_10"))
    needles = [
        {
            "_id": name,
            "difficulty": "easy",
            "length": "short",
            "questions": ["What is the secret fruit in the above context?", "What is the secret city?"],
            "answers": ["lychee", "Helsinki"],
            "question_depths": ["0-20%", "80-100%"],
            "context": "Some words.",
        }
        for name in sample.ids
    ]
    (sample.pages_dir / "data.json").write_text(json.dumps(needles))
    server = fault_server("It is a Lychee.")
    done = command(
        *("niah", "--input", str(sample.pages_dir), "--output", str(sample.output), "--base_url", server.base_url)
    )
    assert done.returncode == 0
    for folder in ("clean", "adv_jpeg_10"):
        report = json.loads((sample.output / f"{folder}_niah_eval.json").read_text())
        assert (report["total_questions"], report["correct"]) == (6, 3)
        assert report["detailed_analysis"]["by_needle_depth"]["80-100%"] == {"total": 3, "correct": 0, "accuracy": 0.0}
        assert report["detailed_analysis"]["by_needle_depth"]["40-60%"]["accuracy"] is None
    one = command(
        *("niah", "-d", str(sample.pages_dir / "data.json"), "-i", str(sample.pages_dir / "clean" / "images")),
        *("-o", str(tmp_path / "one.json"), "--base_url", server.base_url, "--case_sensitive"),
    )
    assert one.returncode == 0
    assert json.loads((tmp_path / "one.json").read_text())["correct"] == 0


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.places[1]])
def test_a_command_takes_what_its_function_takes(name: str) -> None:
    taken = list(inspect.signature(getattr(commands, name), eval_str=True).parameters.values())
    module = importlib.import_module(f"vqa_client.cli.{COMMANDS[name].places[0]}")
    called = getattr(module, getattr(commands, name).__name__)
    takes = list(inspect.signature(called, eval_str=True).parameters.values())
    assert [(each.name, each.kind) for each in taken] == [(each.name, each.kind) for each in takes]
    for given, wanted in zip(taken, takes, strict=True):
        kinds = [
            get_args(each.annotation)[0] if get_args(each.annotation) else each.annotation for each in (given, wanted)
        ]
        assert given.annotation == wanted.annotation or issubclass(*kinds)


COMPLETED = {
    ("run", "po"): "pope",
    ("run", "pope", "--li"): "--limit",
    ("run", "pope", "--circ"): "--circular",
    ("run", "pope", "--dp"): "--dpi",
    ("selftest", "pope", "--samp"): "--sample",
    ("robustness", "run", "--task", "po"): "pope",
    ("robustness", "run", "--task", "pope", "--corruptions", "snow", "--li"): "--limit",
    ("robustness", "run", "--lev"): "--levels",
    ("score", "--ann"): "--annotations",
    ("score", "--task", "pope", "--miss"): "--missing",
    ("batch", "st"): "status",
    ("batch", "write", "ru"): "run",
    ("batch", "read", "run", "pope", "--li"): "--limit",
    ("batch", "read", "robustness", "run", "--task", "pope", "--lev"): "--levels",
    ("ask", "rows.csv", "--li"): "--limit",
}
"""Words up to the cursor, and what a shell replaces the last one with."""


def test_a_shell_completes_the_options_of_every_command(tmp_path: Path) -> None:
    script = tmp_path / "completion.sh"
    assert command("--install-completion", "--shell", "bash", "--output", str(script)).returncode == 0
    lines = [
        f"COMP_WORDS=(vqa-client {shlex.join(words)}); COMP_CWORD={len(words)}; COMPREPLY=(); _vqa_client; "
        'printf "%s\\n" "$(printf "%s\\n" "${COMPREPLY[@]}" | sort -u | tr "\\n" " ")"'
        for words in COMPLETED
    ]
    shell = ["bash", "-c", f"source {shlex.quote(str(script))}\n" + "\n".join(lines)]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=300, check=True)
    assert dict(zip(COMPLETED, map(str.strip, done.stdout.splitlines()), strict=True)) == COMPLETED


def described(options: ArgumentCollection) -> list[tuple[str, list[Any]]]:
    return [(repr(option), described(option.children)) for option in options]


@pytest.mark.parametrize("line", ["ask x --limit 3", "mc --limit 3", "judge x --limit 3", "compare a b", "view x"])
def test_options_that_tests_build_once_equal_those_built_again(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_once, compared = App.assemble_argument_collection, []

    def both(of: App, **more: Any) -> ArgumentCollection:
        kept, afresh = kept_once(of, **more), options_once._assemble(of, **more)
        negatives = [options_once._negatives(option.parameter, options_once._hint(option)) for option in afresh]
        compared.append(described(kept) == described(afresh) and [option.negatives for option in kept] == negatives)
        return kept

    monkeypatch.setattr(App, "assemble_argument_collection", both)
    for _ in range(2):  # the second has nothing of the first
        with suppress(CycloptsError):
            app.parse_args(shlex.split(line), print_error=False, exit_on_error=False)
    assert compared
    assert all(compared)


def test_a_turn_of_the_loop_handles_few_sockets_and_none_that_was_closed_or_registered_again() -> None:
    pairs = [socket.socketpair() for _ in range(3 * MOST_EVENTS)]
    with FewEvents() as selector:
        for number, (ours, theirs) in enumerate(pairs):
            selector.register(ours, selectors.EVENT_READ, number)
            theirs.send(b"x")
        first = [key.data for key, _ in selector.select()]
        assert len(first) == MOST_EVENTS
        later = sorted(set(range(len(pairs))) - set(first))
        for number in later:
            selector.unregister(pairs[number][0])
            if number % 2:
                selector.register(pairs[number][0], selectors.EVENT_READ, number)
        seen = [key.data for _ in range(6) for key, _ in selector.select(0)]
    assert {number for number in later if number % 2} <= set(seen)
    assert not {number for number in later if not number % 2} & set(seen)
    for pair in pairs:
        for end in pair:
            end.close()


@pytest.mark.parametrize(
    "argv",
    [
        ["/bin/vqa-client", "mc", "--api_key", "SECRET", "-o", "a b"],
        ["vqa-client", "mc", "--api-key=SECRET", "--fresh", "-o", "a b"],
        ["vqa-client", "mc", "--api_key=SECRET", "-o", "a b", "--fresh"],
    ],
)
def test_the_resume_command_has_no_key_and_does_not_start_over(argv: list[str]) -> None:
    assert resume_command(argv) == "vqa-client mc -o 'a b'"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["--base_url", "h:1/sk-abc/v1"], "--base_url 'h:1/<key>/v1'"),
        (["--base-url=me:pw@h:1/v1"], "--base-url=h:1/v1"),
        (["--endpoint", "http://h/v1?k=abcDEF12345678"], "--endpoint 'http://h/v1?k=<key>'"),
        (["-o", "out/sk-abc/v1"], "-o out/sk-abc/v1"),
        (["--header", "api-key=SECRET"], "--header api-key=..."),
        (["--header=api-key=SECRET"], "--header=api-key=..."),
        (["--batch_command", "a --api-key SECRET -i {input}"], "--batch_command 'a --api-key ... -i {input}'"),
        (["--batch-command=env HF_TOKEN=SECRET a {input}"], "'--batch-command=env HF_TOKEN=... a {input}'"),
        (["--batch-command", "a 'Bearer SECRET' {input}"], """--batch-command 'a '"'"'Bearer ...'"'"' {input}'"""),
        (
            ["--batch-command", "a --max_tokens 8 --key -i {input}"],
            "--batch-command 'a --max_tokens 8 --key -i {input}'",
        ),
        (["--batch-command", 'a {"api_key": "SE CRET"} {input}'], """--batch-command 'a {"api_key": ...} {input}'"""),
    ],
)
def test_the_resume_command_has_no_key_of_an_address_or_a_header(typed: list[str], shown: str) -> None:
    assert resume_command(["vqa-client", "mc", *typed]) == f"vqa-client mc {shown}"
