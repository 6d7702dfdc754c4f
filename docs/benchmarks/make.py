"""Writes a page for each benchmark, and their table, from the declarations: `python docs/benchmarks/make.py`."""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from vqa_client.benchmark import Benchmark, Beside, Columns, Form, Metric, Prompt, Question
from vqa_client.tables.loading import Tables
from vqa_client.tasks import registry
from vqa_client.tasks.listing import declared

HERE = Path(__file__).parent
_BY_ROW = "(depends on the row)"
_TWO = {"A": "{choice}", "B": "{choice}"}
_LISTED = re.compile(r"\(?A\W{1,3}\{choice\}.*\{choice\}", re.DOTALL)
OWN_COMMANDS = ("ask", "mc", "niah", "vqa2", "vqax", "actx", "esnlive", "vcr")
"""Benchmarks with their own command, which the README and docs/asking.md show."""


def pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    names = [name for name in declared() if name not in OWN_COMMANDS]
    made = {name: _benchmark(name) for name in names}
    return {"README.md": "\n".join(_table(made)), **{f"{name}.md": "\n".join(_page(made[name])) for name in names}}


def _benchmark(name: str) -> Benchmark:
    entry = registry.find(name)
    return entry.make(entry.settings())


def _table(made: dict[str, Benchmark]) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield "Each benchmark is one file in `vqa_client/tasks/`. This table and the pages are made from these files by"
    yield "`python docs/benchmarks/make.py`."
    yield ""
    yield "| benchmark | asks about | headline | forms of the data |"
    yield "|---|---|---|---|"
    for name, benchmark in made.items():
        title = declared()[name].title.partition(": ")[2] or declared()[name].title
        description = benchmark.description()
        headline = (description.leading_total or description.headline).replace("_", " ")
        forms = ", ".join(dict.fromkeys(_kind(form) for form in _forms(benchmark)))
        yield f"| [`{name}`]({name}.md) | {title} | {headline} | {forms} |"
    yield ""


def _page(benchmark: Benchmark) -> Iterator[str]:
    module = inspect.getmodule(_module(benchmark))
    title, _, about = inspect.cleandoc(str(module.__doc__ if module else "")).partition("\n")
    yield f"# {title.rstrip('.')}"
    yield ""
    yield f"    vqa-client run {benchmark.name} --data FOLDER -o results --base_url http://localhost:8000/v1"
    yield ""
    yield about.strip()
    yield ""
    yield "## Data"
    yield ""
    yield "| files below `--data` | columns with other names | source | licence |"
    yield "|---|---|---|---|"
    for form in _forms(benchmark):
        files = " and ".join(f"`{glob}`" for glob in ([form.files] if isinstance(form.files, str) else form.files))
        columns = ", ".join(f"{field} in {_column(column)}" for field, column in form.columns.items()) or "-"
        home, licence = (form.home.address, form.home.licence) if form.home else ("-", "-")
        yield f"| {files} | {columns} | {_address(home)} | {licence} |"
    yield ""
    yield "## Prompts"
    yield ""
    prompt = benchmark.prompt if isinstance(benchmark.prompt, Prompt) else Prompt(benchmark.prompt)
    forms = {f"`--prompt_form {name}`": form for name, form in benchmark.prompt_forms.items()}
    for name, form in ({"the default": prompt} | forms).items():
        yield from _prompt(name, form)
        if _without_choices(prompt) and (other := _without_choices(form)):
            yield f"a question {'without choices' if '{question}' in other else 'that is in its image'}:"
            yield ""
            yield from _shown(other)
    yield ""
    yield "## What is reported"
    yield ""
    yield "| score | meaning |"
    yield "|---|---|"
    for metric in benchmark.metrics:
        yield f"| {_name(metric, benchmark)} | {metric.says or '-'} |"
    for total in benchmark.totals:
        of = f" (under {', '.join(total.on)})" if total.on else ""
        points = f" (points of {total.most:g})" if total.most > 1 else ""
        lead = " **(headline)**" if total.name == benchmark.headline else ""
        yield f"| total `{total.name}`{lead}{points} | {total.says or '-'}{of} |"
    if benchmark.breakdowns:
        fields = (each if isinstance(each, str) else each.field for each in benchmark.breakdowns)
        yield ""
        yield f"Broken down by {', '.join(f'`{field}`' for field in fields)}."
    if benchmark.submission:
        yield ""
        yield "`--submission` writes the file that the benchmark's test server takes."
    if benchmark.pages:
        yield ""
        yield "`--pages evidence|all|retrieved:K` chooses the pages that are sent, `--dpi` the resolution of PDF pages."
    yield ""


def _module(benchmark: Benchmark) -> type:
    return benchmark.load.row if isinstance(benchmark.load, Tables) else type(benchmark)


def _name(metric: Metric, benchmark: Benchmark) -> str:
    leads = metric is benchmark.headline_metric and not benchmark.description().leading_total
    return f"`{metric.name}`" + (" **(headline)**" if leads else "")


def _prompt(name: str, prompt: Prompt) -> Iterator[str]:
    yield (
        f"{name}, images {_PLACES[prompt.images]}"
        + (f", at most {prompt.max_tokens} tokens" * bool(prompt.max_tokens))
        + ":"
    )
    yield ""
    yield from _shown(_words(prompt))


def _shown(words: str) -> Iterator[str]:
    yield from (f"    {line}" for line in words.splitlines() or [""])
    yield ""


def _words(prompt: Prompt, choices: Mapping[str, str] = _TWO) -> str:
    """The template, or the text that a function of the question returns for these choices."""
    if isinstance(prompt.text, str):
        return prompt.text
    sample = Question(id="", text="{question}", choices=dict(choices), references=("A",))
    try:
        made = prompt.text(sample)
    except Exception:
        return _BY_ROW
    return made if isinstance(made, str) else "".join(part for part in made if isinstance(part, str))


def _without_choices(prompt: Prompt) -> str:
    """The prompt of a question without choices, "" where it is the same."""
    words, other = _words(prompt), _words(prompt, {})
    return "" if other in (words, _LISTED.sub("", words), _BY_ROW) else other


_PLACES = {"first": "first", "last": "last", "marked": "where the text places them"}


def _forms(benchmark: Benchmark) -> tuple[Form, ...]:
    return benchmark.load.forms if isinstance(benchmark.load, Tables) else ()


def _kind(form: Form) -> str:
    first = form.files if isinstance(form.files, str) else form.files[0]
    kinds = {
        ".parquet": "Parquet",
        ".tsv": "TSV",
        ".jsonl": "JSON Lines",
        ".json": "JSON",
        ".csv": "CSV",
        ".txt": "text",
    }
    return kinds.get(Path(first).suffix, first)


def _column(column: str | Columns | Beside) -> str:
    if isinstance(column, Beside):
        return f"`{column.template}` beside the file"
    return ", ".join(f"`{name}`" for name in column.names) if isinstance(column, Columns) else f"`{column}`"


def _address(home: str) -> str:
    return f"`--data {home}`" if home.startswith("hf://") else home


def main() -> int:
    """Write all pages; with --check, only name the stale ones."""
    stale = [name for name, text in pages().items() if not _is_up_to_date(HERE / name, text)]
    if "--check" in sys.argv:
        sys.stdout.writelines(f"{name} is not up to date\n" for name in stale)
        return 1 if stale else 0
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
    return 0


def _is_up_to_date(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
