"""Settings of `vqa-client suite`, and the suites themselves: TOML files with a table for each benchmark."""

import dataclasses
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.run import DATA, SERVER, OneModelSettings, RunSettings, output_option
from vqa_client.shipped import shipped

_SHIPPED = "{shipped}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteSettings(RunSettings):
    """Settings of `vqa-client suite`: several benchmarks, one command; its other options hold for all of them."""

    data: Annotated[
        Path | None,
        Parameter(alias="-d", group=DATA, help="Folder that the suite's paths start from. Default: the suite file's."),
    ] = None
    output: Annotated[
        Path,
        Parameter(alias="-o", group=DATA, help="Folder for the leaderboard, with a folder of reports for each model."),
    ] = Path("results")
    config: Annotated[
        tuple[str, ...],
        Parameter(
            alias="-c",
            group=SERVER,
            negative="",
            help="A model's settings, as of `run`; repeat for several models.",
        ),
    ] = ()
    model: Annotated[
        tuple[str, ...],
        Parameter(group=SERVER, negative="", help="A model to ask for, by its served name; repeat for several models."),
    ] = ()

    @property
    def models(self) -> list[tuple[str | None, str | None]]:
        """Config and served name of each model, in the order of the command line."""
        if self.config and self.model and len(self.config) > 1:
            raise UsageError("--model goes with one --config", hint="give the names in the configs' model_name")
        if self.model:
            return [(config, name) for config in self.config or (None,) for name in self.model]
        return [(config, None) for config in self.config] or [(None, None)]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One benchmark of a suite: its name, and its options as the file gives them."""

    name: str
    options: Mapping[str, Any]


def read_suite(name: str) -> tuple[Path, list[Entry]]:
    """The file of a suite, by the name of a shipped one or its path, and its benchmarks.

    A table's name is the benchmark's, unless `benchmark` gives it; options above the tables are for all of them.
    Raises UsageError.
    """
    folder = shipped("config") / "suites"
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in folder.glob("*.toml")))
        raise UsageError(f"there is no suite {name!r}", hint=f"{known}, or the path of a file that ends in .toml")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}", hint="a suite is a TOML file with a table for each benchmark") from None
    common = {key: value for key, value in content.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    if not tables:
        raise UsageError(f"{path} names no benchmark", hint='[docvqa], and below it data = "DocVQA"')
    return path, [
        Entry(name=str(table.get("benchmark", key)), options={**common, **table}) for key, table in tables.items()
    ]


def words(entry: Entry, kind: type[RunSettings], root: Path) -> list[str]:
    """The options of an entry as on the command line; paths begin at `root`."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    paths = {name for name, field in fields.items() if "Path" in str(field.type)}
    found: list[str] = []
    for key, value in entry.options.items():
        if key == "benchmark":
            continue
        for each in value if isinstance(value, list) else [value]:
            if each is True:
                found.append(f"--{key}")
            elif each is False:  # only what is on by default has a word for off
                found += [f"--no-{key}"] if key in fields and _default(fields[key]) else []
            else:
                found += [f"--{key}", _path(each, root) if key in paths else str(each)]
    return found


def _path(value: Any, root: Path) -> str:
    text = str(value)
    if text.startswith(_SHIPPED):
        return f"{shipped('data')}{text.removeprefix(_SHIPPED)}"
    return str(root / Path(text).expanduser())


def settings_of(
    suite: SuiteSettings, entries: Sequence[Entry], parse: Callable[[Entry, Path], RunSettings], root: Path
) -> list[RunSettings]:
    """The settings of every benchmark for every model; what the command line gives wins over the suite's file."""
    given = {
        field.name: getattr(suite, field.name)
        for field in dataclasses.fields(RunSettings)
        if getattr(suite, field.name) != _default(field)
    }
    if "limit" in given:  # instead of the file's sample
        given = {"sample": None, "by": "", **given}
    parsed = [parse(entry, root) for entry in entries]
    return [
        dataclasses.replace(each, **given, **_asked(each, config, name), **_place(each, suite.output, config, name))
        for config, name in suite.models
        for each in parsed
    ]


def _default(field: "dataclasses.Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def _asked(settings: RunSettings, config: str | None, name: str | None) -> dict[str, Any]:
    if isinstance(settings, OneModelSettings):
        return {"config": config, "model": name}
    several = isinstance(getattr(settings, "model", ()), tuple)
    return {"model_name": name} | ({"model": (config,) if several else config} if config else {})


def _place(settings: RunSettings, output: Path, config: str | None, name: str | None) -> dict[str, Any]:
    folder = output / "_".join(Path(each).stem for each in (config, name) if each) if config or name else output
    return {output_option(settings): folder}
