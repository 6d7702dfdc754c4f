"""Settings of `vqa-client suite`, and the suites themselves: TOML files with a table for each benchmark."""

import dataclasses
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from vqa_client.errors import UNDECODABLE, UsageError, unreadable
from vqa_client.settings.run import DATA, SERVER, OneModelSettings, RunSettings, output_option
from vqa_client.settings.validation import Several
from vqa_client.shipped import shipped

_SHIPPED = "{shipped}"
_ADDRESS = re.compile(r"[a-z][a-z0-9]*:/")
_FILES = ("benchmark", "config", "judge", "model")
"""Options that are a name, or a file in the suite's folder."""
_OF_THE_COMMAND = (
    *("help", "output", "results_dir", "json", "html", "dry_run", "batch_step", "ok_with_failures"),
    *("processes", "shard", "share", "ray", "shards", "ray_cpus"),
)
_OF_ALL = ("max_cost", "max_minutes")


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteSettings(RunSettings):
    """Settings of `vqa-client suite`: several benchmarks in one command; other options apply to all of them."""

    data: Annotated[Path | None, DATA, Parameter(alias="-d")] = None
    """Folder that the suite's paths start from. Default: the suite file's; for a shipped suite, this one."""
    output: Annotated[Path, DATA, Parameter(alias="-o")] = Path("results")
    """Folder for the leaderboard, with a folder of reports for each model."""
    config: Annotated[Several[str], SERVER, Parameter(alias="-c")] = ()
    """A model's settings, as of `run`; repeat for several models."""
    model: Annotated[Several[str], SERVER] = ()
    """A model to ask for, by its served name; repeat for several models."""

    @property
    def models(self) -> list[tuple[str | None, str | None]]:
        """The config and the served name of each model, in the order of the command line."""
        if self.config and self.model and len(self.config) > 1:
            raise UsageError("--model goes with one --config", hint="give the names in the configs' model_name")
        if self.model:
            return [(config, name) for config in self.config or (None,) for name in self.model]
        return [(config, None) for config in self.config] or [(None, None)]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One benchmark of a suite: its name, and its options as the file gives them.

    `table` is the table's name where the suite has the benchmark several times, else empty.
    """

    name: str
    options: Mapping[str, Any]
    table: str = ""


def read_suite(name: str) -> tuple[Path, list[Entry]]:
    """Read a suite, by the name of a shipped one or its path; returns its path and its benchmarks.

    A table's name is the benchmark's, unless `benchmark` gives it; options above the tables apply to all. Files of
    benchmarks, configs and judges are looked for in the suite's folder. Raises UsageError.
    """
    folder = shipped("config") / "suites"
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not name.endswith(".toml") and not path.is_file():
        known = ", ".join(sorted(suite.stem for suite in folder.glob("*.toml")))
        hint = f"{known}, or the path of a file that ends in .toml"
        if Path(name).exists():
            hint = f"`vqa-client ask {name}` asks your own questions; a suite is {hint}"
        raise UsageError(f"there is no suite {name!r}", hint=hint)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise unreadable(path, error) from None
    except UNDECODABLE as error:
        raise UsageError(f"{path}: {error}", hint="a suite is a TOML file with a table for each benchmark") from None
    common = {key: value for key, value in content.items() if not isinstance(value, dict)}
    tables = {key: {"benchmark": key, **value} for key, value in content.items() if isinstance(value, dict)}
    for table, options in (("", common), *tables.items()):
        _check_options(path, table, options)
    if not tables:
        raise UsageError(f"{path} names no benchmark", hint='[docvqa], and below it data = "DocVQA"')
    all_options = [
        {key: _path_beside(key, value, path.parent) for key, value in (common | of).items()} for of in tables.values()
    ]
    names = [str(options["benchmark"]) for options in all_options]
    return path, [
        Entry(name=name, options=options, table=table if names.count(name) > 1 else "")
        for table, options, name in zip(tables, all_options, names, strict=True)
    ]


def _check_options(path: Path, table: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options that a suite, or one of its tables, can't have."""
    place = f"{path}, [{table}]" if table else f"{path}"
    for key, value in options.items():
        if _spelled(key) in _OF_THE_COMMAND:
            raise UsageError(f"{place}: {key} belongs to the whole command", hint="give it on the command line")
        if table and _spelled(key) in _OF_ALL:
            raise UsageError(f"{place}: {key} belongs to the whole suite", hint="put it above the tables")
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
            raise UsageError(f"{place}: {key} is a table, not an option", hint="a table [NAME] for each benchmark")
    if not table and "benchmark" in options:
        raise UsageError(f"{place}: benchmark is above the tables", hint="put it into the benchmark's table")


def _spelled(key: str) -> str:
    return key.replace("-", "_")


def _path_beside(key: str, value: Any, folder: Path) -> Any:
    """A value with the suite's folder before it if it names a file there; any other value unchanged."""
    if isinstance(value, list):
        return [_path_beside(key, item, folder) for item in value]
    is_file = _spelled(key) in _FILES and isinstance(value, str) and value.endswith((".py", ".json"))
    return str(folder / value) if is_file and (folder / value).is_file() else value


def _folder_name(name: str) -> str:
    return re.sub(r"[^\w.+@ -]", "_", name).strip(". ") or "_"


def words(entry: Entry, kind: type[RunSettings], root: Path) -> list[str]:
    """The options of an entry as words of a command line; paths start from `root`, addresses stay unchanged."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    paths = {name for field in fields.values() if "Path" in str(field.type) for name in _option_names(field)}
    arguments: list[str] = []
    for key, value in entry.options.items():
        if key == "benchmark":
            continue
        name = _spelled(key)
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                arguments.append(f"--{key}")
            elif item is False:  # only an option that is on by default has a --no- form
                arguments += [f"--no-{key}"] if name in fields and _default_value(fields[name]) else []
            else:  # one word, since a value may begin with a hyphen
                arguments.append(f"--{key}={_absolute_path(item, root) if name in paths else item}")
    return arguments


def _option_names(field: dataclasses.Field[Any]) -> list[str]:
    """All names of a field's option: `data` of mc is also `data_json`."""
    marks = [mark for mark in getattr(field.type, "__metadata__", ()) if isinstance(mark, Parameter)]
    options = [option for mark in marks for option in (*(mark.name or ()), *(mark.alias or ()))]
    return [field.name, *(_spelled(option.lstrip("-")) for option in options)]


def _absolute_path(value: Any, root: Path) -> str:
    text = str(value)
    if text.startswith(_SHIPPED):
        return f"{shipped('data')}{text.removeprefix(_SHIPPED)}"
    if _ADDRESS.match(text):
        return text
    return str(root / Path(text).expanduser())


def settings_of(
    suite: SuiteSettings,
    entries: Sequence[Entry],
    parse: Callable[[Entry, Path], RunSettings],
    root: Path,
    line: Sequence[str] = (),
) -> list[RunSettings]:
    """The settings of every benchmark for every model; options of the command `line` replace the suite's."""
    given = {_spelled(word.lstrip("-").removeprefix("no-").partition("=")[0]) for word in line if word.startswith("--")}
    overrides = {
        field.name: getattr(suite, field.name)
        for field in dataclasses.fields(RunSettings)
        if field.name in given or getattr(suite, field.name) != _default_value(field)
    }
    if "limit" in overrides:  # replaces the suite's sample
        overrides = {"sample": None, "by": "", **overrides}
    elif "sample" in overrides:
        overrides = {"limit": None, **overrides}
    parsed = [(entry, parse(entry, root)) for entry in entries]
    return [
        dataclasses.replace(
            run, **overrides, **_model_options(run, config, name), **_output(run, suite.output, entry, config, name)
        )
        for config, name in suite.models
        for entry, run in parsed
    ]


def _default_value(field: "dataclasses.Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def _model_options(settings: RunSettings, config: str | None, name: str | None) -> dict[str, Any]:
    """The model of the command line; without one, the suite's stays."""
    if isinstance(settings, OneModelSettings):
        return ({"config": config} if config else {}) | ({"model": name} if name else {})
    several = isinstance(getattr(settings, "model", ()), tuple)
    changes = {"model": (config,) if several else config} if config else {}
    return changes | ({"model_name": name} if name else {})


def _output(settings: RunSettings, output: Path, entry: Entry, config: str | None, name: str | None) -> dict[str, Any]:
    """A folder for each model that the command line names; in it one for each table of a benchmark with several."""
    of_config = Path(config).name.removesuffix(".json") if config else ""
    model = "_".join(_folder_name(part) for part in (of_config, name) if part)
    table = _folder_name(entry.table) if entry.table else ""
    return {output_option(settings): output / model / table, "entry": entry.table}
