"""Words that are hard to understand are not in the README, docs, help and messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BETTER = {
    r"(?<!there )\b(?:is|are|was|were) no\b(?! longer| more| less)": "is not a",
    r"\bgo(?:es|ing)? on(?: with| where| all|;|,|\.|$)": "resumes, continues",
    r"\b(?:one|a) (?:line|row|file|page|letter|id|token) an? (?:question|run|document|group|record|line)\b": "per",
    r"\bany more\b": "no longer",
    r"\banew\b": "again",
    r"\b(?:stands?|lies) (?:in|beside|below|behind|under|there)\b(?! for)": "is in",
    r"\b(?:is|are|was|be|not|it) told\b|\btells?\b": "reports, shows",
    r"\b(?:is|are|was) said\b": "reported, printed",
    r"\bholds?\b(?! on)": "contains",
    r"(?<!some )\bof which\b": "rephrase",
    r"\bin (?:the )?place of\b": "instead of",
    r"\bbesides\b": "also",
    r"\bwhoever\b": "rephrase",
    r"\bfor good\b": "permanently",
    r"\bso many\b": "N",
    r"\b(?:questions?|tokens?|requests?) a second\b": "per second",
    r"\bon the way to the server\b|\bmixe?s? answers up\b": "see the README",
    r"\bis given up\b|\bkept replies\b|\bwhat limited\b|\bthe check before the run\b": "skipping, saved, bottleneck",
}
"""Patterns of words, and their replacements."""
ALLOWED = re.compile(
    r"hold (?:the door|on)|doesn't tell"
    r"|'holds'|which of which|knows of which|tells? (?:them|two|one) apart|is told apart"
)
OTHERS_WORDS = re.compile(
    r"scoring/(?:choices|strict|denials|yes_no|thoughts|refusal|published|reply|formulas|maths)"
    r"|tasks/(?:charxiv|explain/prompts|vizwiz)|judge/kinds|client/probing/asks"
)
"""Modules with literals that are patterns of replies, or prompts, which identify a run."""


def texts(path: Path) -> Iterator[str]:
    """The docstrings of a module, and its other texts unless they are patterns of replies, or prompts."""
    tree = ast.parse(path.read_bytes())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (id(node) in docstrings or not OTHERS_WORDS.search(str(path)))
        ):
            yield node.value


def pages() -> list[Path]:
    found = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    return [*found, *(ROOT / folder / "README.md" for folder in ("config", "data", "serve"))]


def stumbled(text: str) -> list[str]:
    """The first match of each pattern in a text, with its replacement."""
    plain = ALLOWED.sub("", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL))
    return [
        f"{found[0]!r}: {better}"
        for pattern, better in BETTER.items()
        if (found := re.search(pattern, plain, re.IGNORECASE))
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_plain_words(page: Path) -> None:
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
    assert [(number, fault) for number, line in lines for fault in stumbled(line)] == []


def test_help_messages_and_docstrings_are_in_plain_words() -> None:
    found = [
        (str(path.relative_to(ROOT)), text[:80], fault)
        for path in sorted(ROOT.glob("vqa_client/**/*.py"))
        for text in texts(path)
        if " " in text
        for fault in stumbled(text)
    ]
    assert found == []


def test_each_pattern_finds_what_it_replaces() -> None:
    told = "It is no file; the run goes on. One line a question holds it, anew: whoever asks is told, besides."
    assert len(stumbled(told)) == 8
    assert stumbled("It is not a file; run it again to resume.") == []


def test_no_two_classes_have_one_name() -> None:
    """Each benchmark's file declares a Row, and Options if it has some; a private class is seen in its module only."""
    modules: dict[str, list[str]] = {}
    for path in sorted(ROOT.glob("vqa_client/**/*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_" and node.name not in ("Row", "Options"):
                modules.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


def test_no_loop_calls_its_thing_each() -> None:
    found = []
    for path in sorted(ROOT.glob("vqa_client/**/*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            targets = ast.walk(node.target) if isinstance(node, ast.For | ast.comprehension) else ()
            found += [str(path) for target in targets if isinstance(target, ast.Name) and target.id == "each"]
    assert found == []
