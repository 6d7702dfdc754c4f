"""Finds a benchmark by its name or by the path of its file, with its settings and its data."""

import hashlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from dataclasses import replace as with_settings
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args, get_type_hints

from msgspec import Struct

from vqa_client.benchmark import ASKS, READS, Benchmark, BenchmarkSettings
from vqa_client.errors import DataError, UsageError, did_you_mean
from vqa_client.own_code import is_ours, place_of, shown, text_of
from vqa_client.prompt import Prompt
from vqa_client.reports.names import safe_name
from vqa_client.settings.choices import ChoiceOptions
from vqa_client.settings.declared import AskSettings, ChoicePageSettings, ChoiceSettings, PageSettings
from vqa_client.settings.run import RunSettings, given_output, names_report, output_option
from vqa_client.settings.validation import required_options
from vqa_client.tables.hub import address_of, fetch
from vqa_client.tables.loading import Tables
from vqa_client.tables.objects import check_object, local_copy, local_folder
from vqa_client.tables.pictures import is_address, is_object
from vqa_client.task import Part, Source, Task
from vqa_client.tasks.listing import declared, of_runs
from vqa_client.tasks.own_load import parts_of
from vqa_client.types import Note


class RegisteredBenchmark(Struct, frozen=True, kw_only=True):
    """A benchmark by its name; `sha256` is the digest of its file if that isn't of this package."""

    name: str
    title: str
    settings: type[RunSettings]
    declared: Callable[[Any], Benchmark]
    sha256: str = ""

    def make(self, settings: RunSettings) -> Benchmark:
        benchmark = self.declared(settings)
        if not isinstance(benchmark, Benchmark):
            found = f"{self.name}: benchmark{place_of(self.declared)} returns {shown(benchmark)}"
            raise UsageError(found, hint="return a Benchmark")
        benchmark = benchmark.with_prompt_form(getattr(settings, "prompt_form", ""))
        mode = settings.choice_mode if isinstance(settings, ChoiceOptions) else "text"
        return benchmark if mode == "text" else benchmark.with_choice_mode(mode)

    def globs(self, settings: RunSettings) -> list[tuple[str, ...]]:
        """The globs of each form of the benchmark's data, with its images; none where it finds its files itself."""
        if not isinstance(settings, BenchmarkSettings) or isinstance(settings, AskSettings):
            return []
        load = self.declared(settings).load
        return load.file_globs(settings.split) if isinstance(load, Tables) else []

    def scoring(self, settings: RunSettings) -> dict[str, str]:
        """The options that change how replies are read."""
        return ({"file": self.sha256} if self.sha256 else {}) | self._marked_options(settings, READS)

    def identity(self, settings: RunSettings) -> dict[str, str]:
        """The options that change what is asked, without those at their defaults."""
        common = ("split", "prompt_form") if isinstance(settings, BenchmarkSettings) else ()
        options = {name: value for name in common if (value := getattr(settings, name))}
        return options | self._marked_options(settings, ASKS)

    def _marked_options(self, settings: RunSettings, mark: Any) -> dict[str, str]:
        hints = get_type_hints(self.settings, include_extras=True)
        return {
            field.name: str(value)
            for field in fields(self.settings)
            if mark in getattr(hints[field.name], "__metadata__", ())
            and (value := getattr(settings, field.name)) != field.default
        }

    def settings_from(self, file: Mapping[str, Any], *, as_given: bool) -> RunSettings:
        """Settings from a run file, where paths are texts and tuples lists.

        The settings are for all of the data, each question once, unless `as_given`. Raises KeyError for a missing
        setting.
        """
        file = {_RENAMED.get(name, name): value for name, value in file.items()}
        hints = get_type_hints(self.settings)
        if missing := [name for name in required_options(self.settings) if name not in file]:
            raise KeyError(missing[0])
        names = [field.name for field in fields(self.settings) if field.init and field.name in file]
        values: dict[str, Any] = {name: _from_json(file[name], hints[name]) for name in names}
        values |= {"dry_run": False, "rate": None, "processes": "1", "shard": "", "share": ""}
        values |= {"batch": False, "no_wait": False}  # some options can't be combined with them
        if not as_given:
            # forms of each question that the benchmark makes itself
            own: frozenset[str] = getattr(self.settings, "own_forms", frozenset())
            values |= {name: _ALL[name] for name in (values.keys() & _ALL) - own}
        return self.settings(**values)


class Opened(Struct, frozen=True, kw_only=True):
    """A benchmark under a command's settings, with its data on this machine.

    `revision` is the commit of data from the hub, else "". `identity` has the options that change what is asked.
    `template` is the given prompt template if it fits the benchmark; if not, `message` says so.
    """

    settings: RunSettings
    benchmark: Benchmark
    task: Task
    notify: Note
    revision: str
    identity: dict[str, Any]
    template: str | None
    message: str

    def parts(self, *, finds_images: bool) -> list[Part]:
        """The parts of the data; images are looked for on request. Raises DataError, or UsageError for no part."""
        source = Source(settings=self.settings, notify=self.notify, finds_images=finds_images)
        parts = parts_of(self.benchmark, source)
        self._check_orders(parts)
        return parts

    def _check_orders(self, parts: Iterable[Part]) -> None:
        """Raise DataError where an option reorders choices and rows of the data are rotations of others already."""
        original = self.benchmark.rotation_of
        given = [option for option in self.settings.variations if option in ("--circular", "--shuffle_choices")]
        if original is None or not given:
            return
        questions = chain.from_iterable(part.loaded.questions for part in parts)
        for question in questions:
            if (other := text_of(original, question, "the id without rotation")) != question.id:
                rotates = f"question {question.id!r} of the data is a rotation of {other!r}"
                raise DataError(rotates, hint=f"leave {given[0]} out: the data has the choices in every order")

    def check_images(self, parts: Iterable[Part]) -> None:
        """Raise DataError where the first image of a part is missing in its store."""
        for part in parts:
            images = [name for first in islice(part.loaded.questions, 1) for name in first.images]
            for address in list(filter(is_object, images))[:1]:
                check_object(address)

    def report_path(self, part: str, config: str | None, *, of: int) -> Path:
        """The path of a part's report; it is the file in --output where `of`, the number of all reports, is 1.

        Raises UsageError where --output is a file and several files are written, as in the published forms.
        """
        benchmark, settings = self.benchmark, self.settings
        option, output = output_option(settings), given_output(settings)
        if names_report(output):
            if option == "output" and of == 1:
                return output
            several = f" for its {of} reports" if of > 1 else ""
            one = ", or one folder of images as --images" if of > 1 and option == "output" else ""
            raise UsageError(
                f"--output {output} is a file's name, and a folder is needed{several}", hint=f"--output results{one}"
            )
        if benchmark.report_path is not None:
            path = benchmark.report_path(part, config)
            if not isinstance(path, Path):
                where = place_of(benchmark.report_path)
                raise UsageError(f"{benchmark.name}: report_path{where} returns {shown(path)}", hint="return a Path")
            return path
        assert isinstance(settings, BenchmarkSettings)  # all others name their reports themselves
        return Path(settings.output, f"{safe_name(f'{benchmark.name}_{part}' if part else benchmark.name)}.json")


def open_benchmark(
    settings: RunSettings,
    notify: Note = lambda text: None,
    *,
    template: str | None = None,
    system: str | None = None,
    revision: str = "",
) -> Opened:
    """Make the benchmark of the settings, and fetch its data.

    `template` and `system` replace the benchmark's own.
    """
    settings, revision = with_data(settings, notify, revision)
    entry = find(settings.benchmark)
    benchmark = entry.make(settings)
    chosen, message = benchmark.template(template)
    task = benchmark.task(chosen, entry.scoring(settings), system)
    sent: dict[str, Any] = {"system": task.system}
    if isinstance(settings, BenchmarkSettings) and not benchmark.form:  # a form is known by its name
        prompt = benchmark.prompt if isinstance(benchmark.prompt, Prompt) else Prompt()
        sent |= {"parameters": task.parameters, "images_last": prompt.images == "last"}
    return Opened(
        settings=settings,
        benchmark=benchmark,
        task=task,
        notify=notify,
        revision=revision,
        identity=entry.identity(settings)
        | dict(benchmark.identity)
        | {name: part for name, part in sent.items() if part},
        template=chosen,
        message=message,
    )


def with_data(settings: RunSettings, notify: Note, revision: str = "") -> tuple[RunSettings, str]:
    """Fetch data from the hub or from a store; returns the settings with its paths, and the hub's commit or ""."""
    settings = _with_objects(settings)
    address = address_of(settings.data) if isinstance(settings, BenchmarkSettings) else None
    if address is None or not isinstance(settings, BenchmarkSettings):
        return settings, ""
    address = address._replace(revision=revision or address.revision)
    globs = find(settings.benchmark).globs(settings)
    fetched = fetch(address, globs, yes=settings.yes, note=notify)
    return with_settings(settings, data=fetched.folder if globs else fetched.folder / fetched.glob), fetched.commit


def _with_objects(settings: RunSettings) -> RunSettings:
    """The settings with local copies of data at addresses; images stay in their store."""
    copies: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if not isinstance(value, Path) or not is_address(value) or field.name == "images":
            continue
        globs = find(settings.benchmark).globs(settings) if field.name == "data" and not value.suffix else ()
        copies[field.name] = local_folder(value, globs) if globs else local_copy(value)
    return with_settings(settings, **copies) if copies else settings


COMMON: Final = {
    (False, False): BenchmarkSettings,
    (True, False): ChoiceSettings,
    (False, True): PageSettings,
    (True, True): ChoicePageSettings,
}
"""Settings of a benchmark without options of its own, by whether it has labels, and pages."""
_RENAMED: Final = {"parsing": "parser", "data_json": "data", "images_dir": "images"}
"""The new names of settings in earlier run files."""
_ALL: Final = {
    **{"limit": None, "sample": None, "by": "", "repeat": 1, "blind": False},
    **{"shuffle_choices": False, "circular": False, "blacklist": None, "pages": "all"},
}
"""Settings that ask for all of the data, each question once."""


def _from_json(value: Any, hint: Any) -> Any:
    kinds = (hint, *get_args(hint))
    if isinstance(value, str) and Path in kinds:
        return Path(value)
    if isinstance(value, str) and bool in kinds:
        return value.lower() == "true"
    return tuple(value) if isinstance(value, list) else value


def find(name: str) -> RegisteredBenchmark:
    """The benchmark with a name, or in a file whose path ends in .py.

    Raises UsageError for an unknown name, with the nearest name, and for a file without a benchmark.
    """
    if name.endswith(".py"):
        path = Path(os.path.expanduser(name))
        if not path.is_file():
            raise UsageError(f"{path} does not exist", hint="give the path of a file that declares a benchmark")
        source = path.read_bytes()
        return _entry(name, _module_of(path, source), hashlib.sha256(source).hexdigest())
    known = declared().get(name)
    module = known.module if known is not None else of_runs().get(name)
    if module is not None:
        imported = _import_declaration(name, module)
        return _entry(name, imported, _digest_of(imported))
    hint = "`vqa-client list` shows all; a file ends in .py"
    if os.path.exists(name):
        hint = f"`vqa-client ask {name}` asks your own questions; {hint}"
    else:
        hint = did_you_mean(name, declared(), hint)
    raise UsageError(f"there is no benchmark {name!r}", hint=hint)


def undeclared(found: RegisteredBenchmark) -> list[str]:
    """The common settings that a benchmark refuses, since it doesn't declare what they choose."""
    if found.settings not in COMMON.values():
        return []
    made = found.declared(found.settings())
    declares = {"submission": made.submission, "prompt_form": made.prompt_forms}
    return [setting for setting, declaration in declares.items() if not declaration]


def _import_declaration(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # it is another one, which the module imports
        found = f"the entry point of {name!r} names the module {module}, and there is no {error.name}"
        raise UsageError(found, hint="mend the entry point of its package, and install that again") from None


def _digest_of(module: ModuleType) -> str:
    """The digest of the file of another package's module, "" for one of this package, and without a file."""
    file = module.__file__ or ""
    is_own = not is_ours(file) and os.path.isfile(file)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if is_own else ""


_FILE: Final = "_file_"
"""The beginning of the name of a module that is loaded from a user's file."""
_MEND: Final = "mend the file"


def _module_of(path: Path, source: bytes) -> ModuleType:
    """The module of a user's file; the traceback of its error begins in the file."""
    module = ModuleType(_FILE + path.stem.replace(".", "_"))
    module.__file__ = os.path.abspath(path)
    sys.modules[module.__name__] = module  # where dataclasses look for the names in their annotations
    try:
        exec(compile(source, module.__file__, "exec"), vars(module))
    except Exception as error:
        trace, _ = _trace_from(error, {module.__name__})
        raise UsageError(f"{path} can't be loaded\n{trace}", hint=_MEND) from error
    return module


def fault_of_author(error: Exception) -> UsageError | None:
    """An error that a user's own benchmark raised, with the traceback from its code on; None for any other error."""
    installed = {entry.module.partition(".")[0] for entry in declared().values()} - {__package__.partition(".")[0]}
    trace, file = _trace_from(error, installed | {name for name in sys.modules if name.startswith(_FILE)})
    return UsageError(f"{file} raises {type(error).__name__}\n{trace}", hint=_MEND) if file else None


def _trace_from(error: Exception, packages: Collection[str]) -> tuple[str, str]:
    """The traceback from the first code of one of these packages on, and the file of that code, "" if there is none."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in packages:
        at = at.tb_next
    trace = traceback.TracebackException(type(error), error, at)
    while len(trace.stack) > 1 and is_ours(trace.stack[-1].filename):
        trace.stack.pop()  # our checks of what the code gave
    return "".join(trace.format()).rstrip(), at.tb_frame.f_code.co_filename if at else ""


def _entry(name: str, module: ModuleType, sha256: str = "") -> RegisteredBenchmark:
    title = (module.__doc__ or "").strip().partition("\n")[0]
    declared = getattr(module, "BENCHMARK", None)
    if isinstance(declared, Benchmark):
        settings = COMMON[bool(declared.labels), declared.pages is not None]
        return RegisteredBenchmark(
            name=name, title=title, settings=settings, declared=lambda settings: declared, sha256=sha256
        )
    make = getattr(module, "benchmark", None)
    if not callable(make):
        raise UsageError(
            f"{module.__file__} declares no benchmark", hint="it assigns BENCHMARK, or defines benchmark(options)"
        )
    options = next(iter(get_type_hints(make).values()), None)
    if not (isinstance(options, type) and issubclass(options, RunSettings)):
        raise UsageError(
            f"{module.__file__}: benchmark(options) takes no options that extend BenchmarkSettings",
            hint="class Options(BenchmarkSettings), and def benchmark(options: Options) -> Benchmark",
        )
    if (needed := required_options(options)) and issubclass(options, BenchmarkSettings):
        raise UsageError(f"{module.__file__}: the option {needed[0]} has no default", hint="give every option one")
    return RegisteredBenchmark(name=name, title=title, settings=options, declared=make, sha256=sha256)
