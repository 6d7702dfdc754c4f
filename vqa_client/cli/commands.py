"""The commands. A command's help page, and a mistake in its options, import its settings but not its module."""

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

from cyclopts import Parameter as CommandParameter


class Command(NamedTuple):
    """One command.

    `places` are the modules of cli/ and settings/ with its function and its settings, both named after it; the second
    is empty if the function reads its options itself. `first` is the argument before the options: name, type and help.
    `hidden` are settings that the command refuses or doesn't use; its help page leaves them out.
    """

    places: tuple[str, str]
    help: str
    example: str
    first: tuple[str, Any, str] | None = None
    hidden: tuple[str, ...] = ()


ASK, RESULTS, DOCUMENTS, SERVERS = "Ask a model", "Look at results", "Make data", "Servers"
GROUPS: dict[str, dict[str, Command]] = {
    ASK: {
        "ask": Command(
            ("ask", "declared"),
            "Ask your own questions: CSV, TSV, JSON, Parquet, tar, or a folder of images; columns are detected.",
            "ask questions.csv --images pictures --model my-model",
            ("data", Path, "A file, a folder, a quoted glob, or hf://owner/name."),
            ("data", "split", "submission", "prompt_form"),
        ),
        "run": Command(
            ("benchmark", ""),
            "Run a benchmark by its name, or by the path of a file; NAME --help shows its options.",
            "run chartqa --data ChartQA --limit 100",
        ),
        "list": Command(("main", ""), "List the benchmarks that `run` knows.", "list"),
        "suite": Command(
            ("suite", "suite"),
            "Run several benchmarks one after the other, and put their results into one table.",
            "suite general --data sets --model my-model",
            ("name", str, "smoke, documents, general, or a FILE.toml."),
        ),
        "mc": Command(
            ("evaluate", "own_commands"),
            "Multiple choice on long documents as page images (LongBench-v2's form).",
            "mc --data longbench/data.json --images longbench/clean/images --output results",
        ),
        "niah": Command(
            ("evaluate", "own_commands"),
            "Needle in a haystack: secrets hidden in documents that are shown as page images.",
            "niah --input niah --output results",
        ),
        "vqa2": Command(
            ("evaluate", "own_commands"),
            "Open questions on photographs (VQA 2.0 on COCO), scored as the official evaluator does.",
            "vqa2 --data vqa2 --sample 500 --output results",
        ),
        "explain": Command(
            ("evaluate", "own_commands"),
            "Answers with explanations: VQA-X, ACT-X, e-SNLI-VE and VCR.",
            "explain --task vqax --data sets --config llava",
        ),
        "ctl": Command(
            ("runs", "reports"),
            "Show the progress of a run; change its workers, pause, resume or stop it.",
            "ctl results --max_workers 64",
        ),
        "demo": Command(
            ("demo", "serve"),
            "Start the page reader, a local OCR server, and run niah and mc on the sample pages.",
            "demo",
        ),
        "batch": Command(
            ("batch", ""),
            "One step of a batched run (--batch): write files for `vllm run-batch` or a console, read their "
            "results, or show and cancel open batches.",
            "batch write run chartqa --data ChartQA --model my-model",
        ),
        "selftest": Command(
            ("benchmark", ""),
            "Score a benchmark's own references as replies; every score must be 1. Needs no server.",
            "selftest chartqa --data ChartQA",
        ),
    },
    RESULTS: {
        "compare": Command(
            ("compare", "reports"),
            "Compare runs: which is better, how certain, on which questions.",
            "compare results/a results/b --output comparison",
        ),
        "leaderboard": Command(
            ("compare", "reports"),
            "Put finished runs into one table: models by benchmarks, with intervals and ranks.",
            "leaderboard results",
        ),
        "report": Command(
            ("report", "reports"),
            "Make a run's HTML page from its record log, or its tables as CSV, JSON, Parquet and Markdown.",
            "report results --csv --md",
        ),
        "view": Command(
            ("view", "reports"),
            "Serve a run's page locally, or an index of the runs in a folder; it follows a run in progress.",
            "view results",
        ),
        "parse": Command(
            ("parse", "reports"), "Explain how a reply was parsed.", "parse results --explain QUESTION_ID"
        ),
        "judge": Command(
            ("judge", "judge"),
            "Ask another model, or people, whether a finished run's replies are right; compares with the rule.",
            "judge results --judge judge-model",
            ("results", Path, "A finished run: its *.records.jsonl, its report, or a folder of runs."),
            ("blind", "processes", "shard", "share", "ray", "shards", "ray_cpus"),
        ),
        "label": Command(
            ("view", "judge"),
            "Label a sample of a run's replies in your browser, to compare judges with people.",
            "label results --name ada",
            ("results", Path, "A finished run: its *.records.jsonl, its report or its folder."),
        ),
        "rescore": Command(
            ("parse", "reports"), "Re-parse and re-score saved replies (no server).", "rescore results --write"
        ),
        "merge": Command(
            ("runs", "reports"),
            "Join the shards of a folder's runs into one log, run file and report per run.",
            "merge results",
        ),
        "score": Command(
            ("score", ""),
            "Score answers from a file, against VQA annotations or as a benchmark does; needs no server.",
            "score --predictions answers.json --annotations v2_mscoco_val2014_annotations.json",
        ),
        "score-explanations": Command(
            ("score", "score"),
            "Score explanations from a file against human ones; needs no server.",
            "score-explanations --task vqax --predictions answers.csv --data sets",
        ),
        "robustness generate": Command(
            ("robustness", "robustness"),
            "Make corrupted copies of a folder of images: fourteen corruptions at five levels, a folder for each.",
            "robustness generate --images images --output corrupted",
        ),
        "robustness run": Command(
            ("robustness_run", ""),
            "Run a benchmark clean and under each corruption and level; images are corrupted in memory and not stored.",
            "robustness run --task mc --data data.json --images images --output robust",
        ),
        "robustness evaluate": Command(
            ("robustness", "robustness"),
            "Evaluate finished robustness runs together: five metrics, VRE, and each level against the clean images.",
            "robustness evaluate robust --output robust",
        ),
        "robustness plot": Command(
            ("robustness", "robustness"),
            "Draw the figures of finished robustness runs, each as PNG and SVG.",
            "robustness plot robust --output plots",
        ),
    },
    DOCUMENTS: {
        "render": Command(
            ("render", "pages"),
            "Render documents to page images: a data file's contexts, or the text files of a folder.",
            "render --data data.json --output pages",
        ),
        "needles": Command(
            ("render", "pages"),
            "Hide secrets in documents, and write the questions that ask for them.",
            "needles --data data.json --output niah/data.json",
        ),
        "perturb": Command(
            ("perturb", "pages"),
            "Damage page images: lower resolutions, compression, noise, blur, smaller type; a folder for each.",
            "perturb --images pages --output perturbed --perturbation dpi:56",
        ),
        "pages-preview": Command(
            ("perturb", "pages"),
            "Draw a contact sheet: pages beside their perturbed forms, as a model sees them.",
            "pages-preview --images pages perturbed/* --output sheet.png",
        ),
        "legibility": Command(
            ("perturb", "pages"),
            "Count how many of the documents' words an OCR reader finds on their pages.",
            "legibility --images pages --data data.json",
        ),
    },
    SERVERS: {
        "check": Command(
            ("check", "serve"),
            "Test a server: does it see images, mix up answers, ignore parameters?",
            "check --base_url http://localhost:8000/v1",
        ),
        "serve": Command(
            ("serve", "serve"),
            "Start vLLM or mlx-vlm by a model's config, the tiny VLM or the page reader; stops on Ctrl-C.",
            "serve vllm --config qwen3-vl",
            ("server", Literal["vllm", "mlx", "local", "reader"], ""),
        ),
    },
}
"""The commands as they are typed, in the groups of the help page."""
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
ASKING = ("run", "ask", "suite", "mc", "niah", "vqa2", "explain", "robustness")
"""Commands that can ask by batches."""
BatchStep = Literal["write", "read", "status", "cancel"]
"""The steps that `batch` can run."""


def __getattr__(name: str) -> Callable[..., int | None]:
    """A command by its name: a function that imports the command's module only when it is called."""
    if name not in COMMANDS:
        raise AttributeError(name)
    (module, place), _, _, first, _ = COMMANDS[name]
    function = "list_benchmarks" if name == "list" else name.split()[-1].replace("-", "_")
    if not place:
        return _import_function(module, function)

    def command(*arguments: Any, **options: Any) -> int | None:
        called = signature.bind(*arguments, **options)
        called.apply_defaults()
        return _import_function(module, function)(*called.args, **called.kwargs)

    kind = getattr(import_module(f"vqa_client.settings.{place}"), f"{function.title().replace('_', '')}Settings")
    settings = Parameter("settings", Parameter.POSITIONAL_OR_KEYWORD, default=default_settings(kind), annotation=kind)
    signature = Signature([*([_positional_parameter(*first)] if first else []), settings])
    command.__name__ = function
    return set_signature(command, signature)


def set_signature(function: Callable[..., int | None], signature: Signature) -> Callable[..., int | None]:
    """Give a function the signature that cyclopts reads."""
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return function


def _positional_parameter(name: str, kind: Any, text: str) -> Parameter:
    annotation = Annotated[kind, CommandParameter(help=text)] if text else kind
    return Parameter(name, Parameter.POSITIONAL_ONLY, annotation=annotation)


def _import_function(module: str, name: str) -> Callable[..., int | None]:
    return cast(Callable[..., int | None], getattr(import_module(f"vqa_client.cli.{module}"), name))


def default_settings(kind: Any) -> Any:
    """The settings of a command line without options; `Parameter.empty` where some are required."""
    from vqa_client.settings.validation import required_options  # with the settings, not before

    return Parameter.empty if required_options(kind) else kind()
