"""Gathers the pages of the manual: `python docs/site.py && mkdocs build --strict` puts the site into build/site.

The pages of the repository, their links as the site needs them, and the reference, which is made from the code.
"""

import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

import vqa_client
from vqa_client.cli.app import app
from vqa_client.cli.benchmark import settings_command
from vqa_client.model_config import ModelSettings
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.types import Record

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "pages"
GATHERED = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "config/*.md", "data/*.md", "serve/**/*.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
"""A link inside the repository: whether it is an image, its words, its path, its place on the page."""


def pages() -> dict[str, str]:
    """The text of each page by its path in the site."""
    sources = {str(path.relative_to(ROOT)) for glob in GATHERED for path in ROOT.glob(glob)}
    gathered = {_home(source): _linked(source, sources) for source in sorted(sources)}
    return gathered | {f"reference/{name}": text for name, text in _reference()}


def _home(source: str) -> str:
    return "index.md" if source == "README.md" else source.removeprefix("docs/")


def _linked(source: str, sources: set[str]) -> str:
    """A page with its links as they lead inside the site; what isn't in the site stays as its words."""

    def leading(link: re.Match[str]) -> str:
        image, words, path, place = link.groups()
        target = os.path.normpath(PurePosixPath(source).parent / path)
        target = target if target in sources or image else os.path.join(target, "README.md")
        if not image and target not in sources:
            return str(words)
        return f"{image}[{words}]({os.path.relpath(_home(target), Path(_home(source)).parent)}{place or ''})"

    text = (ROOT / source).read_text(encoding="utf-8")
    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)  # code stays as it is
    return "".join(part if part.startswith("```") else LINK.sub(leading, part) for part in parts)


def _reference() -> Iterator[tuple[str, str]]:
    whole = app.generate_docs(heading_level=1).split("\n## vqa-client ")
    commands = {text.partition("\n")[0]: text.partition("\n")[2] for text in whole[1:] if not text.startswith("-")}
    of_run = settings_command("vqa-client run NAME", BenchmarkSettings).generate_docs(heading_level=1)
    commands["run"] = commands["run"].replace("[ARGS]", "NAME [OPTIONS]") + of_run.partition("\n**")[1]
    commands["run"] += of_run.partition("\n**")[2]
    yield "commands.md", "\n".join(_commands(commands))
    for name, text in commands.items():
        yield f"commands/{name}.md", f"# vqa-client {name}\n{text}"
    yield "config.md", "\n".join(_schema("Config: JSON schema", msgspec.json.schema(ModelSettings)))
    about = inspect.getdoc(Record) or ""
    yield "record.md", "\n".join(_schema("Fields of a record", msgspec.json.schema(Record), about))
    yield "python.md", "\n".join(_python())


def _commands(commands: dict[str, str]) -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Options are written with `_` or `-`: `--max_workers`, `--max-workers`."
    yield ""
    for name, text in commands.items():
        help_text = next(line for line in text.splitlines() if line and not line.startswith(("`", "vqa-client", "<a")))
        yield f"* [`{name}`](commands/{name}.md): {help_text}"


def _schema(title: str, schema: dict[str, Any], about: str = "") -> Iterator[str]:
    definitions = schema.get("$defs", {})
    top = {"": schema} if "properties" in schema else {}
    yield f"# {title}\n\n{about}"
    for name, kind in (top | definitions).items():
        yield f"\n## {name}\n" if name else ""
        yield "| key | type | default |"
        yield "|---|---|---|"
        for key, of in kind.get("properties", {}).items():
            default = "required" if key in kind.get("required", ()) else f"`{json.dumps(of.get('default'))}`"
            yield f"| `{key}` | {_type(of)} | {default if 'default' in of or default == 'required' else 'absent'} |"
    yield "\n## JSON schema\n"
    yield f"```json\n{json.dumps(schema, indent=2)}\n```"


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    items = schema.get("items")
    return f"array of {_type(items)}" if isinstance(items, dict) else str(schema.get("type", "any JSON"))


def _python() -> Iterator[str]:
    yield "# Python API"
    yield ""
    yield "`import vqa_client` gives these; errors are in `vqa_client.errors`."
    for name in vqa_client.__all__:
        thing = getattr(vqa_client, name)
        if not callable(thing):
            continue
        yield f"\n## {name}\n"
        about = inspect.getdoc(thing) or ""
        fields = re.findall(r"^ *(\w+): (.*)$", about, re.MULTILINE) if is_dataclass(thing) else []
        yield about.partition("\n\n")[0] if fields else about
        if fields:
            yield from ("", *(f"* `{field}`: {text}" for field, text in fields))
        else:
            yield f"\n```python\n{_signature(name, thing)}\n```"
        if inspect.isclass(thing) and not fields:
            for method, of in vars(thing).items():
                if callable(of) and not method.startswith("_") and inspect.getdoc(of):
                    yield f"\n### {name}.{method}\n\n{inspect.getdoc(of)}"


def _signature(name: str, thing: Any) -> str:
    parameters = inspect.signature(thing).parameters.values()
    return f"{name}({', '.join(str(each.replace(annotation=each.empty)) for each in parameters)})"


def main() -> int:
    """Write all pages, and the images beside them."""
    shutil.rmtree(BUILT, ignore_errors=True)
    for name, text in pages().items():
        path = BUILT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for image in [*ROOT.glob("docs/*.svg"), *ROOT.glob("docs/*.webp")]:
        shutil.copy(image, BUILT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
