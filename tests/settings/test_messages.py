"""The message and hint for each impossible setting, word for word."""

from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from vqa_client.errors import UsageError
from vqa_client.settings.declared import BenchmarkSettings, PageOptions
from vqa_client.settings.divided import read_shard
from vqa_client.settings.judge import JudgeSettings, LabelSettings
from vqa_client.settings.own_commands import ExplainSettings, Vqa2Settings
from vqa_client.settings.pages import RenderSettings
from vqa_client.settings.reports import CompareSettings, CtlSettings, ReportSettings
from vqa_client.settings.robustness import EvaluateSettings, PlotSettings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.score import ScoreExplanationsSettings, ScoreSettings
from vqa_client.settings.serve import CheckSettings, ServeSettings
from vqa_client.settings.suite import SuiteSettings, read_suite

DATA: dict[str, Any] = {"data_json": Path("d"), "output": Path("o")}
SCORED: dict[str, Any] = {"predictions": Path("p")}
NO_ADDRESS = "give a path: only data files and --images of a run may be addresses"
NAMELESS = {
    "hf://": "hf://owner/name",
    "s3://": "s3://bucket/rows.csv",
    "az://": "s3://bucket/rows.csv",
    "https://": "https://host/rows.csv",
}
METRICS = [
    (("bleu_4",), "'bleu_4'", ""),
    ((), "empty", ""),
    (("raw", "x", "cider"), "'x', 'cider'", "vqa-client score-explanations scores explanations"),
]
FILLED = "a {input} {output}"
ONE_COMMAND, PACED = "leave it out: one command sends all batches", "leave it out: the batch service sets the pace"
UNBATCHED: list[tuple[dict[str, Any], str, str]] = [
    ({"shard": "next/4"}, "--shard next/N", ONE_COMMAND),
    ({"ray": "auto", "shards": 4}, "--ray", ONE_COMMAND),
    ({"max_cost": 1.0}, "--max_cost", "--dry_run shows the files, and what they cost"),
    ({"max_workers": 4}, "--max_workers", "leave it out: --batch_parallel says how many batches are open at once"),
    ({"breaker_after": 4}, "--breaker_after", "leave it out: --batch_rounds says how often a question is sent"),
    ({"image_uuid": "auto"}, "--image_uuid", "leave it out: a batch contains every image"),
    ({"rpm": 4.0}, "--rpm", PACED),
    ({"tpm": 4.0}, "--tpm", PACED),
    ({"endpoint": ("http://a", "http://b")}, "several of --endpoint", "name the one that gets the batches"),
    ({"stream": True}, "--stream", "leave it out: results come whole"),
]
RAY_WORKERS = "Ray starts a worker for each processor"
JUDGED_LATER = "vqa-client judge RESULTS judges it later"
ONE_EACH = "one run each, with an --output each"
SHARD = "K/N such as 3/64, of nine digits at most; auto, auto/N or next/N"
PAGES = "all, evidence, or retrieved:K such as retrieved:3"
NAME = "give 1 to 40 letters, digits, '-', '_', '.' and blanks"
SCALE = "give the lowest and the highest grade, up to 100: 0-10"
IN_CONFIGS = "give the names in the configs' model_name"
FASTER = "for more speed give --max_workers, or several servers by --endpoint"
SOURCES = "--data takes a data file or a folder of .txt files, --pdf PDF files"


def _models(**given: Any) -> Any:
    return SuiteSettings(**given).models


ROWS: dict[Callable[..., Any], list[tuple[dict[str, Any], str, str]]] = {
    RunSettings: [
        ({"processes": "0"}, "--processes is '0'; it must be from 1 to 1000, or auto", ""),
        ({"processes": "many"}, "--processes is 'many'; it must be from 1 to 1000, or auto", ""),
        ({"processes": "9" * 9}, "--processes is '999999999'; it must be from 1 to 1000, or auto", ""),
        ({"system": "\udcff"}, "--system is not UTF-8", ""),
        ({"header": ("a=\udcff",)}, "--header is not UTF-8", ""),
        ({"share": "s3://b/p"}, "--share needs --shard next/N", "--shard next/64"),
        (
            {"shard": "next/4", "share": "results"},
            "--share 'results' is not an object store",
            "s3://bucket/prefix; a folder is an --output",
        ),
        (
            {"processes": "2", "shard": "1/2"},
            "--processes and --shard can't be combined",
            "--max_workers is for each shard",
        ),
        ({"shard": "next/0"}, "--shard is 'next/0'", "next/N, such as next/64; N is at most 100,000"),
        ({"shard": "next/100001"}, "--shard is 'next/100001'", "next/N, such as next/64; N is at most 100,000"),
        ({"ray": "auto", "shards": 100_001}, "--shards is 100001; it must be a whole number from 1 to 100000", ""),
        ({"repeat": 10_001}, "--repeat is 10001; it must be a whole number from 1 to 10000", ""),
        ({"shards": 4}, "--shards needs --ray", "--shard next/N divides among workers with one --output"),
        ({"ray_cpus": 2}, "--ray_cpus needs --ray", "--shard next/N divides among workers with one --output"),
        ({"ray": "auto", "shards": 4, "processes": "2"}, "--ray and --processes can't be combined", RAY_WORKERS),
        ({"ray": "auto", "shards": 4, "shard": "1/2"}, "--ray and --shard can't be combined", RAY_WORKERS),
        ({"ray": "auto"}, "--ray needs --shards", "--shards 64; about eight per processor of the cluster"),
        (
            {"ray": "ray://h:1", "shards": 4},
            "--ray ray://h:1 is a client's address",
            "run the command on a node of the cluster: --ray auto",
        ),
        ({"shard": "3"}, "--shard is '3'", SHARD),
        ({"shard": "1/9999999999"}, "--shard is '1/9999999999'", SHARD),
        ({"shard": "4/3"}, "--shard 4/3 is part 4 of 3", "K goes from 1 to N"),
        ({"shard": "0/3"}, "--shard 0/3 is part 0 of 3", "K goes from 1 to N"),
        ({"no_wait": True}, "--no_wait needs batches", "add --batch"),
        (
            {"batch_command": FILLED, "processes": "2"},
            "--processes can't be combined with --batch_command",
            ONE_COMMAND,
        ),
        (
            {"batch": True, "batch_command": FILLED},
            "--batch and --batch_command can't be combined",
            "--batch asks a server, --batch_command a program",
        ),
        (
            {"batch_command": "a '{input}"},
            """--batch_command is "a '{input}": No closing quotation""",
            "quote it as for sh",
        ),
        (
            {"batch_command": "a"},
            "--batch_command has no {input} and no {output}",
            "'vllm run-batch -i {input} -o {output} --model some-vlm'",
        ),
        (
            {"batch": True, "batch_window": "99999h"},
            "--batch_window is '99999h'; it must be from 1 to 9999 hours or days",
            "such as 24h or 7d",
        ),
        ({"repeat": 2, "blind": True}, "--repeat and --blind can't be combined", ONE_EACH),
        ({"sample": 5, "limit": 5}, "--sample and --limit both select questions", "give one of them"),
        ({"by": "difficulty"}, "--by needs --sample", "--sample 500 --by FIELD"),
        ({"rate": 2.0}, "--rate needs a dry run", "add --dry_run"),
        ({"timeout": 0.0}, "--timeout is 0.0; it must be a number above 0", ""),
        ({"timeout": inf}, "--timeout is inf; it must be a finite number above 0", ""),
        ({"timeout": nan}, "--timeout is nan; it must be a finite number above 0", ""),
        ({"wait_for_server": inf}, "--wait_for_server is inf; it must be a finite number of at least 0", ""),
        ({"rpm": 1e-300}, "--rpm is 1e-300; it must be a number of at least 1e-09", ""),
        ({"presence_penalty": nan}, "--presence_penalty is nan; it must be a finite number", ""),
        ({"presence_penalty": -inf}, "--presence_penalty is -inf; it must be a finite number", ""),
        ({"top_p": inf}, "--top_p is inf; it must be a finite number from 0 to 1", ""),
        ({"extra_body": ("a.b=NaN",)}, "--extra_body has a.b = nan: numbers in JSON are finite", "a text has quotes"),
        (
            {"extra_body": ("a=[1, 1e999]",)},
            "--extra_body has a.1 = inf: numbers in JSON are finite",
            "a text has quotes",
        ),
        ({"header": ("a b=c",)}, "--header 'a' can't be sent", "name=value in printable ASCII"),
        ({"header": ("a:key==",)}, "--header 'a' can't be sent", "name=value in printable ASCII"),
        ({"header": ("a b:c",)}, "--header 'a' has no value", "--header name=value"),
        (
            {"extra_body": ("model=x", "messages=[]")},
            "--extra_body sets messages, model",
            "the run sets it: leave it out",
        ),
        ({"extra_body": ("top_k",)}, "--extra_body 'top_k' has no value", "--extra_body name=value"),
        *(
            ({"batch": True, **given}, f"{option} can't be combined with --batch", hint)
            for given, option, hint in UNBATCHED
        ),
    ],
    ServeSettings: [({"start_timeout": nan}, "--start_timeout is nan; it must be a finite number above 0", "")],
    CheckSettings: [({"timeout": -1.0}, "--timeout is -1.0; it must be a number above 0", "")],
    ExplainSettings: [
        ({"n_samples": "inf"}, "--n_samples is 'inf'; it must be a whole number of at least 0, None or all", "")
    ],
    BenchmarkSettings: [
        ({"judge": "j", "repeat": 2}, "--judge needs a whole run with one form of each question", JUDGED_LATER),
        ({"judge": "j", "shard": "1/2"}, "--judge needs a whole run with one form of each question", JUDGED_LATER),
        ({"shots_from": Path("d")}, "--shots_from needs --shots", "--shots N"),
        *(
            ({"data": Path(address)}, f"{address} names nothing", f"an address is such as {example}")
            for address, example in NAMELESS.items()
        ),
        (
            {"data": Path("ftp://me:secret@host/x?key=secret")},
            "--data can't be an address: ftp://host/x",
            "it takes hf://, s3://, gs://, az://, http://, https:// and paths",
        ),
        (
            {"images": Path("hf://a/b")},
            "--images can't be an address: hf://a/b",
            "it takes s3://, gs://, az://, http://, https:// and paths",
        ),
        ({"output": Path("s3://b/x")}, "--output can't be an address: s3://b/x", NO_ADDRESS),
    ],
    PageOptions: [
        ({"pages": "retrieved:0"}, "--pages 'retrieved:0' is unknown", PAGES),
        ({"pages": "all,some"}, "--pages 'some' is unknown", PAGES),
        ({"pages": "all,evidence", "blind": True}, "--blind and --pages can't be combined", ONE_EACH),
    ],
    JudgeSettings: [
        (
            {"which": "okay"},
            "--which names 'okay'",
            "all, wrong, or any of ok, unparsed, ambiguous, truncated, refused, empty, bad_image, too_long, "
            "too_many_images, bad_response, rate_limited, timeout, connection, server_error, rejected",
        ),
        ({"scale": "5-4"}, "--scale is 5-4", SCALE),
        ({"scale": "0-101"}, "--scale is 0-101", SCALE),
        (
            {"kind": "grade", "choice_mode": "logprob"},
            "--choice_mode logprob takes verdicts of one character, and --kind grade has others",
            "give --scale 0-9",
        ),
        (
            {"kind": "extract", "choice_mode": "logprob"},
            "--choice_mode logprob takes verdicts of one character, and --kind extract has others",
            "give --choice_mode text",
        ),
        ({"kind": "pair"}, "--kind pair compares two runs", "--kind pair --with OTHER_RUN"),
        ({"other": Path("b")}, "--kind pair compares two runs", "--kind pair --with OTHER_RUN"),
        (
            {"blind": True},
            "judge doesn't take --blind: a judge sees the reply, and the question's images only with --with_images",
            "judge a run that was asked with --blind: each of its forms is judged",
        ),
        (
            {"shard": "1/2"},
            "judge doesn't take --shard: its log must be one, beside the run's",
            f"join a sharded run by vqa-client merge; {FASTER}",
        ),
        ({"processes": "2"}, "judge doesn't take --processes: its log has one writer", FASTER),
        ({"ray": "auto", "shards": 4}, "judge doesn't take --ray: its log has one writer", FASTER),
        ({"results": Path("s3://b/x")}, "RESULTS can't be an address: s3://b/x", NO_ADDRESS),
    ],
    ReportSettings: [
        ({"runs": [Path("s3://b/x")]}, "RUNS can't be an address: s3://b/x", NO_ADDRESS),
        (
            {"runs": ()},
            "report needs a run",
            "name one: a folder, a report, a *.run.json or a *.records.jsonl, of any benchmark.",
        ),
    ],
    ScoreSettings: [
        (
            {"predictions": Path("gs://b/x"), "annotations": None},
            "--predictions can't be an address: gs://b/x",
            NO_ADDRESS,
        ),
        *(
            (
                {**SCORED, "annotations": Path("a"), "metrics": metrics},
                f"--metrics is {named}; it must be any of normalised, official, official-2017, raw, simple, "
                "simple-words, enhanced, enhanced-words, contains",
                hint,
            )
            for metrics, named, hint in METRICS
        ),
    ],
    RenderSettings: [
        ({**DATA, "data_json": Path("s3://b")}, "--data can't be an address: s3://b", NO_ADDRESS),
        ({"output": Path("o")}, "--data or --pdf is missing", SOURCES),
        ({"pdf": Path("p"), **DATA}, "--data and --pdf can't be combined", SOURCES),
        (
            {**DATA, "page_size": "40x40"},
            "--page_size 40x40 leaves no room for text of 11 points between --margins 10",
            "give a larger page, smaller margins or a smaller --font_size",
        ),
        (
            {**DATA, "dpi": 5000},
            "--page_size a4 at --dpi 5000 is 2,416 megapixels a page",
            "give a smaller --dpi: 150 megapixels are the most",
        ),
        ({**DATA, "page_size": "a3x"}, "--page_size is 'a3x'; it must be like a4, letter or 595x842", ""),
        ({**DATA, "margins": "1x"}, "--margins is '1x'; it must be like 10 or 10x20", ""),
        ({**DATA, "line_height": inf}, "--line_height is inf; it must be a finite number of at least 1", ""),
    ],
    LabelSettings: [
        ({"name": "a/b"}, "--name is 'a/b'", NAME),
        (
            {"name": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
            "--name is 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
            NAME,
        ),
    ],
    CompareSettings: [
        (
            {"runs": ()},
            "no runs are given",
            "name two or more, each a run folder, a report, a *.run.json or a *.records.jsonl",
        )
    ],
    CtlSettings: [({"run": Path("r"), "pause": True, "resume": True}, "--pause and --resume can't be combined", "")],
    EvaluateSettings: [
        ({"runs": ()}, "no run is given", "name robustness runs: their folders or files"),
        (
            {"runs": (Path("a"),), "weights": "a"},
            "--weights: could not convert string to float: 'a'",
            "five numbers, such as 0.6,0.1,0.1,0.1,0.1; runs are named before",
        ),
    ],
    PlotSettings: [
        (
            {"runs": (), "output": Path("o")},
            "no run is given",
            "name robustness runs: their folders or files",
        )
    ],
    _models: [
        (
            {"config": ("a", "b"), "model": ("c",)},
            "--model goes with one --config",
            IN_CONFIGS,
        )
    ],
    Vqa2Settings: [
        (
            {"model": ("b", "a", "x/a.json")},
            "--model names 'a' twice",
            "name each once; configs of one name need another",
        ),
        ({"model": ("a", "b"), "model_name": "c"}, "--model_name goes with one --model", IN_CONFIGS),
    ],
    ScoreExplanationsSettings: [
        ({**SCORED, "coco_captions": True}, "--coco_captions has no folder to write to", "name one with --output")
    ],
    read_shard: [
        (
            {"text": "auto", "environment": {}},
            "--shard auto: no variable of a scheduler is set",
            "SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, SLURM_PROCID, AWS_BATCH_JOB_ARRAY_INDEX, RANK; or K/N",
        ),
        (
            {"text": "auto", "environment": {"SLURM_ARRAY_TASK_ID": "x"}},
            "--shard auto: SLURM_ARRAY_TASK_ID is 'x', not a number",
            "--shard K/N",
        ),
        (
            {
                "text": "auto",
                "environment": {
                    "SLURM_ARRAY_TASK_ID": "5",
                    "SLURM_ARRAY_TASK_MIN": "1",
                    "SLURM_ARRAY_TASK_MAX": "9",
                    "SLURM_ARRAY_TASK_COUNT": "3",
                },
            },
            "--shard auto: the array from 1 to 9 has 3 tasks",
            "auto/N, with all N parts",
        ),
        (
            {"text": "auto", "environment": {"PMI_RANK": "1"}},
            "--shard auto: no variable of a scheduler is set",
            "SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, SLURM_PROCID, AWS_BATCH_JOB_ARRAY_INDEX, RANK; or K/N",
        ),
        (
            {"text": "auto/2", "environment": {"SLURM_ARRAY_TASK_ID": "3"}},
            "--shard auto/2 is part 3 of 2 (SLURM_ARRAY_TASK_ID; with auto/N an array begins at 1)",
            "K goes from 1 to N",
        ),
        (
            {"text": "auto", "environment": {"SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_MAX": "3"}},
            "--shard auto is part 9 of 3 (SLURM_ARRAY_TASK_ID 9)",
            "K goes from 1 to N",
        ),
    ],
    read_suite: [
        (
            {"name": "none"},
            "there is no suite 'none'",
            "documents, general, smoke, or the path of a file that ends in .toml",
        )
    ],
}
SUITES = [
    ("x=[", ": Invalid value (at end of document)", "a suite is a TOML file with a table for each benchmark"),
    ("max_workers=1", " names no benchmark", '[docvqa], and below it data = "DocVQA"'),
    *(
        (f"{name}='a'\n[a]", f": {name} belongs to the whole command", "give it on the command line")
        for name in (
            *("help", "output", "results-dir", "json", "html", "dry_run", "batch_step", "ok_with_failures"),
            *("processes", "shard", "share", "ray", "shards", "ray_cpus"),
        )
    ),
    *(
        (f"[a]\n{name}=1", f", [a]: {name} belongs to the whole suite", "put it above the tables")
        for name in ("max_cost", "max-minutes")
    ),
    ("[a]\n[a.b]\nc=1", ", [a]: b is a table, not an option", "a table [NAME] for each benchmark"),
    ("[a]\nb=[{c=1}]", ", [a]: b is a table, not an option", "a table [NAME] for each benchmark"),
    ("benchmark='x'\n[a]", ": benchmark is above the tables", "put it into the benchmark's table"),
]


@pytest.mark.parametrize(("made", "given", "message", "hint"), [(made, *row) for made in ROWS for row in ROWS[made]])
def test_an_impossible_setting_is_named_with_the_way_out(
    made: Callable[..., Any], given: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as raised:
        made(**given)
    assert (str(raised.value), raised.value.hint) == (message, hint)


@pytest.mark.parametrize(("text", "message", "hint"), SUITES)
def test_a_fault_of_a_suites_file_is_named_with_the_way_out(text: str, message: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read_suite(str(path))
    assert (str(raised.value), raised.value.hint) == (f"{path}{message}", hint)
