"""The commands by group, each imported when it is called; and what is wrong with a command line, in plain words."""

from collections.abc import Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Any, get_args

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    convert,
)

from vqa_client.errors import UsageError
from vqa_client.version import __version__

ASK, RESULTS, DOCUMENTS, SERVERS = "Ask a model", "Look at results", "Make data", "Servers"
COMMANDS: dict[str, dict[str, tuple[str, str, str]]] = {
    ASK: {
        "ask": (
            "ask",
            "Ask your own questions: CSV, TSV, JSON, Parquet, tar, or a folder of images; columns are detected.",
            "ask questions.csv --images pictures --model my-model",
        ),
        "run": (
            "benchmark",
            "Run a benchmark by its name, or by the path of a file; NAME --help shows its options.",
            "run chartqa --data ChartQA --limit 100",
        ),
        "list_benchmarks": ("main", "List the benchmarks that `run` knows.", "list"),
        "suite": (
            "suite",
            "Run several benchmarks one after the other, and put their results into one table.",
            "suite general --data sets --model my-model",
        ),
        "mc": (
            "evaluate",
            "Multiple choice on long documents as page images (LongBench-v2's form).",
            "mc --data longbench/data.json --images longbench/clean/images --output results",
        ),
        "niah": (
            "evaluate",
            "Needle in a haystack: secrets hidden in documents that are shown as page images.",
            "niah --input niah --output results",
        ),
        "vqa2": (
            "evaluate",
            "Open questions on photographs (VQA 2.0 on COCO), scored as the official evaluator does.",
            "vqa2 --data vqa2 --sample 500 --output results",
        ),
        "explain": (
            "evaluate",
            "Answers with explanations: VQA-X, ACT-X, e-SNLI-VE and VCR.",
            "explain --task vqax --data sets --config llava",
        ),
        "ctl": (
            "runs",
            "Show the progress of a run; change its workers, pause, resume or stop it.",
            "ctl results --max_workers 64",
        ),
        "demo": ("demo", "Start the page reader, a local OCR server, and run niah and mc on the sample pages.", "demo"),
        "batch": (
            "batch",
            "One step of a batched run (--batch): write files for `vllm run-batch` or a console, read their results, "
            "or show and cancel open batches.",
            "batch write run chartqa --data ChartQA --model my-model",
        ),
        "selftest": (
            "benchmark",
            "Score a benchmark's own references as replies; every score must be 1. Needs no server.",
            "selftest chartqa --data ChartQA",
        ),
    },
    RESULTS: {
        "compare": (
            "compare",
            "Compare runs: which is better, how certain, on which questions.",
            "compare results/a results/b --output comparison",
        ),
        "leaderboard": (
            "compare",
            "Put finished runs into one table: models by benchmarks, with intervals and ranks.",
            "leaderboard results",
        ),
        "report": (
            "report",
            "Make a run's HTML page from its record log, or its tables as CSV, JSON, Parquet and Markdown.",
            "report results --csv --md",
        ),
        "view": (
            "view",
            "Serve a run's page locally, or an index of the runs in a folder; it follows a run in progress.",
            "view results",
        ),
        "parse": ("parse", "Explain how a reply was parsed.", "parse results --explain QUESTION_ID"),
        "judge": (
            "judge",
            "Ask another model, or people, whether a finished run's replies are right; compares with the rule.",
            "judge results --judge judge-model",
        ),
        "label": (
            "view",
            "Label a sample of a run's replies in your browser, to compare judges with people.",
            "label results --name ada",
        ),
        "rescore": ("parse", "Re-parse and re-score saved replies (no server).", "rescore results --write"),
        "merge": (
            "runs",
            "Join the shards of a folder's runs into one log, run file and report per run.",
            "merge results",
        ),
        "score": (
            "score",
            "Score answers from a file, against VQA annotations or as a benchmark does; needs no server.",
            "score --predictions answers.json --annotations v2_mscoco_val2014_annotations.json",
        ),
        "score_explanations": (
            "score",
            "Score explanations from a file against human ones; needs no server.",
            "score-explanations --task vqax --predictions answers.csv --data sets",
        ),
    },
    DOCUMENTS: {
        "render": (
            "render",
            "Render documents to page images: a data file's contexts, or the text files of a folder.",
            "render --data data.json --output pages",
        ),
        "needles": (
            "render",
            "Hide secrets in documents, and write the questions that ask for them.",
            "needles --data data.json --output niah/data.json",
        ),
        "perturb": (
            "perturb",
            "Damage page images: lower resolutions, compression, noise, blur, smaller type; a folder for each.",
            "perturb --images pages --output perturbed --perturbation dpi:56",
        ),
        "pages_preview": (
            "perturb",
            "Draw a contact sheet: pages beside their perturbed forms, as a model sees them.",
            "pages-preview --images pages perturbed/* --output sheet.png",
        ),
        "legibility": (
            "perturb",
            "Count how many of the documents' words an OCR reader finds on their pages.",
            "legibility --images pages --data data.json",
        ),
    },
    SERVERS: {
        "check": (
            "check",
            "Test a server: does it see images, mix up answers, ignore parameters?",
            "check --base_url http://localhost:8000/v1",
        ),
        "serve": (
            "serve",
            "Start vLLM or mlx-vlm by a model's config, the tiny VLM or the page reader; stops on Ctrl-C.",
            "serve vllm --config qwen3-vl",
        ),
    },
}
"""By group: each command's module in cli/, its help and an example; only the one that is called is imported."""
OWN_HELP = ("run", "selftest", "score")
"""Commands that show a benchmark's own options."""
ROBUSTNESS = {
    "generate": (
        "Make corrupted copies of a folder of images: fourteen corruptions at five levels, a folder for each.",
        "robustness generate --images images --output corrupted",
    ),
    "run": (
        "Run a benchmark clean and under each corruption and level; images are corrupted in memory and not stored.",
        "robustness run --task mc --data data.json --images images --output robust",
    ),
    "evaluate": (
        "Evaluate finished robustness runs together: five metrics, VRE, and each level against the clean images.",
        "robustness evaluate robust --output robust",
    ),
    "plot": (
        "Draw the figures of finished robustness runs, each as PNG and SVG.",
        "robustness plot robust --output plots",
    ),
}
"""Each command's help and an example."""


def _default_text(default: Any) -> str | None:
    """A default as help shows it; a switch that is off and an empty value say nothing."""
    if isinstance(default, bool) or default in (None, "", ()):
        return None
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _convert(kind: Any, tokens: Sequence[Token]) -> Any:
    """Convert the words of an option; cyclopts alone takes 2.5 for 2 where a whole number is wanted."""
    kinds = get_args(kind) or (kind,)
    for token in tokens if int in kinds and float not in kinds and str not in kinds else ():
        if "." in token.value:
            raise CoercionError(token=token, target_type=int if kinds[1:] in ((), (NoneType,)) else kind)
    return convert(kind, tokens)


class HelpFormatter:
    """Cyclopts' own, which is imported where a page is printed; an option's text is one line, however it is broken."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        for entry in panel.entries:
            if text := getattr(entry.description, "primary_renderable", None):
                text.plain = " ".join(text.plain.split())
        _default_formatter()(console, options, panel)

    def __getattr__(self, name: str) -> Any:
        return getattr(_default_formatter(), name)


def _default_formatter() -> Any:
    from cyclopts.help import DefaultFormatter

    return DefaultFormatter()


CALL: dict[str, Any] = {
    "result_action": "return_value",
    "print_error": False,
    "exit_on_error": False,
    "error_console": object(),
}
"""How an App is called: it raises its errors and prints none, so nobody imports rich to make a console for them."""

SPELLED = Parameter(name_transform=lambda name: name, show_default=_default_text, converter=_convert)
"""Options are spelled as the settings are; hyphens are taken too."""


def example(words: str) -> str:
    """The last line of a command's help."""
    return f"Example: vqa-client {words}"


_GROUPS = {name: Group(name, sort_key=number) for number, name in enumerate(COMMANDS)}
app = App(
    name="vqa-client",
    version=__version__,
    help_format="plaintext",
    help_formatter=HelpFormatter(),
    help="Ask vision-language models questions about images, and measure how good the answers are, with honest error "
    "bars.",
    default_parameter=SPELLED,
)
robustness = App(
    name="robustness",
    group=_GROUPS[RESULTS],
    help="Measure how corrupted images change a model's answers.",
    default_parameter=SPELLED,
)
for _group, _commands in COMMANDS.items():
    for _name, (_, _help, _words) in _commands.items():
        app.command(
            f"vqa_client.cli.signatures:{_name}",
            name="list" if _name == "list_benchmarks" else None,
            group=_GROUPS[_group],
            help=_help,
            help_flags=[] if _name in OWN_HELP else ["--help", "-h"],
            help_epilogue=example(_words),
        )
for _name, (_help, _words) in ROBUSTNESS.items():
    _is_run = _name == "run"  # it shows its benchmark's help, too
    robustness.command(
        f"vqa_client.cli.{'robustness' if _is_run else 'signatures'}:{_name}",
        help=_help,
        help_flags=[] if _is_run else ["--help", "-h"],
        help_epilogue=example(_words),
    )
app.command(robustness)
app.register_install_completion_command(add_to_startup=False, help="Install completion for this shell.")


OF_A_CONFIG = {
    "prompt_template": "prompt",
    "system_prompt": "system",
    "max_completion_tokens": "max_tokens",
    "corruption": "corruptions",
    "images_dir": "images",
    "output_dir": "output",
}
"""Keys of a config, or options of other programs, by the option that means the same."""
HELP_FLAGS = frozenset({"--help", "-h"})
Options = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
"""Options that the command reads by itself."""
_NO_SHOTS = "mc, niah, vqa2 and explain ask as published, without worked examples; `run` and `ask` take --shots"
HINTS = {
    "shots": _NO_SHOTS,
    "shots_from": _NO_SHOTS,
    "pages": "`vqa-client run` takes --pages, for benchmarks of documents",
    "map": "a field's column has its own option: --question COLUMN, --image COLUMN, --answer COLUMN",
}
_MOST_COMMANDS = 8
_TYPES = {
    "into int|Literal[auto]": "into a whole number or auto",
    "into int": "into a whole number",
    "into float": "into a number",
}


def usage_error(error: CycloptsError) -> UsageError:
    """One line, and the way out if there is one."""
    if isinstance(error, MissingArgumentError) and error.keyword is not None:
        return UsageError(f"{error.keyword} needs a value", hint=example_of(error.command_chain or ()))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        unknown = [token for token in error.unused_tokens or () if token.startswith("--")]
        more = f", and {unknown[0]} is not an option of this command" if unknown else ""
        name = error.argument.name
        positional = error.argument.index is not None and not error.argument.parameter.alias
        label = name.lstrip("-").upper() if positional else name
        return UsageError(f"{label} is missing{more}", hint=example_of(error.command_chain or ()))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return UsageError(f"{error.unused_tokens[0]!r} is one argument too many", hint="--help lists the arguments")
    if isinstance(error, UnknownCommandError):
        return UsageError(_unknown_command(error))
    text = str(error).strip()
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        name = option.lstrip("-").replace("-", "_")
        if name in OF_A_CONFIG:
            return UsageError(f"unknown option {option}", hint=f"the option is --{OF_A_CONFIG[name]}")
        if name in HINTS:
            return UsageError(f"unknown option {option}", hint=HINTS[name])
        if "Did you mean" not in text:
            return UsageError(f"unknown option {option}", hint="--help lists all options")
    text = text.replace(', "".', ".")
    for technical, better in _TYPES.items():
        text = text.replace(technical, better)
    return UsageError(text)


def _unknown_command(error: UnknownCommandError) -> str:
    """As cyclopts says it, which would import all commands to do so."""
    assert error.app
    assert error.unused_tokens
    word, flags = error.unused_tokens[0], (*error.app.help_flags, *error.app.version_flags)
    names = [name for name in error.app if name not in flags]
    nearest = get_close_matches(word, names, n=1)
    suggestion = f' Did you mean "{nearest[0]}"?' if nearest else ""
    commands = [name for name in names if not name.startswith("-")]
    end = ", ..." if len(commands) > _MOST_COMMANDS else "."
    return f'Unknown command "{word}".{suggestion} Available commands: {", ".join(commands[:_MOST_COMMANDS])}{end}'


def example_of(command: Sequence[str]) -> str:
    """How the command is called."""
    examples = {name.replace("_", "-"): words for each in COMMANDS.values() for name, (_, _, words) in each.items()}
    examples |= {f"robustness {name}": words for name, (_, words) in ROBUSTNESS.items()}
    words = examples.get(" ".join(command))
    return f"for example: vqa-client {words}" if words else "--help lists all options"
