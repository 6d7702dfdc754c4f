"""The page of a run: one file with its script, style and data inside, which needs no network."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from vqa_client.files import encode, replacing
from vqa_client.html import figures
from vqa_client.html.asked import asked
from vqa_client.html.charts import curves, histograms, level_curves
from vqa_client.html.data import data_block, inside_page
from vqa_client.html.figures import MEANINGS, judgings
from vqa_client.html.shown_images import EMBEDDED, EmbeddedImages, Show, chosen
from vqa_client.log_lines import numbered
from vqa_client.reports.bottleneck import read_start
from vqa_client.reports.limiting import limits_of, states_of
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.names import count, cut, flat
from vqa_client.reports.overview import Overview, spent, totals
from vqa_client.reports.sections import bounds, p_text, points
from vqa_client.reports.summary import gap_words
from vqa_client.settings.declared import ALL_PAGES
from vqa_client.settings.run import RunSettings
from vqa_client.shipped import importing
from vqa_client.types import ANSWERED
from vqa_client.unseen import unseen, unseen_in_javascript
from vqa_client.version import __version__

LABEL_SCRIPTS = ("data.js", "detail.js", "label.js")
SCRIPTS = ("data.js", "filters.js", "list.js", "reply.js", "notes.js", "detail.js", "keys.js", "live.js", "main.js")
INDEX_SCRIPTS = ("index.js",)
STYLES = ("report.css", "questions.css")
OURS = (
    rb'(?i)<!doctype html>\s*<html lang="en">\s*<head>\s*<meta charset="utf-8">\s*'
    rb'<meta http-equiv="Content-Security-Policy" content="default-src '
)
"""The beginning of every page of this program, in every version."""
DISTINGUISHING = (
    *("limit", "sample", "pages", "corruptions", "levels", "thinking", "prompt_form", "split", "config", "blind"),
    *("circular", "shuffle_choices", "text_only", "repeat", "choice_mode"),
)
"""Options that an index of runs shows unless they have their default."""
_HERE = Path(__file__).parent
_UNSEEN = unseen(lines=False)


def write_page(path: Path, overview: Overview, *, html_images: str = "thumbs") -> None:
    """Replace the page of a run; `html_images` is a key of EMBEDDED.

    Raises OutputError if it can't be written, NotOurs if the path is a foreign file or a link.
    """
    with replacing(path, OURS) as file:
        show = EmbeddedImages([overview.run], path.parent, chosen(overview.run.records, EMBEDDED[html_images]))
        file.write(page(overview, show))


def page(overview: Overview, show: Show, *, live: bool = False) -> bytes:
    """The page in UTF-8; a `live` one asks its server regularly whether the log has changed."""
    return rendered("page.html.j2", data_block(overview, show), **_content(overview, live=live))


def rendered(template: str, data: bytes = b"", scripts: tuple[str, ...] = SCRIPTS, **content: Any) -> bytes:
    """A page in UTF-8: a template with its data block and scripts."""
    frame = {"policy": policy(live=False), "css": _markup(_style()), "version": __version__}
    inside = {"data": _markup(data.decode()), "script": _markup(_script(scripts))}
    text: str = environment().get_template(template).render(frame | inside | content)
    return text.encode("utf-8", "replace")


def index_page(place: Path, runs: Mapping[int, Overview], left_out: Sequence[str]) -> bytes:
    """The index of several runs by number, with links to their pages; `left_out` says why others can't be read."""
    rows = [_index_row(place, number, overview) for number, overview in runs.items()]
    shown_place = place if place.name else place.resolve()
    return rendered("index.html.j2", scripts=INDEX_SCRIPTS, place=shown_place, runs=rows, left_out=left_out)


def label_page(title: str, sheet: Path, content: object, keys: Mapping[str, str]) -> bytes:
    """The page on which a person labels replies; `keys` has the key of each label, or ""."""
    context = {"title": title, "sheet": sheet, "keys": keys}
    return rendered("label.html.j2", inside_page(content), LABEL_SCRIPTS, policy=policy(live=True), **context)


def _index_row(place: Path, number: int, overview: Overview) -> dict[str, Any]:
    run, lead = overview.run, asked(overview).lead if overview.variants else ()
    failed = overview.whole.overall.failed
    n, expected = len(run.records), run.facts.expected
    states = [
        f"{n:,} of {expected:,}" if expected and n < expected else "complete" if expected else "",
        f"{failed:,} failed" if failed else "",
    ]
    settings = run.facts.settings
    shown_settings = {name: settings[name] for name in DISTINGUISHING if name in settings}
    given = {name: value for name, value in shown_settings.items() if not _is_default(name, value)}
    folder = run.log.parent
    return {
        "number": number,
        "title": run.title.replace(f" · {run.of_words}", "") if lead else run.title,
        "of": lead[0].label if lead else "",
        "model": run.facts.model or run.stem,
        "figure": (*lead, *figures.overall(overview))[0],
        "n": n,
        "state": ", ".join(filter(None, states)),
        "options": [(f"--{name}", "" if value is True else f" {value}") for name, value in given.items()],
        "started": run.facts.started[:16],
        "spent": spent(overview),
        "folder": str(folder.relative_to(place)) if folder.is_relative_to(place) else str(folder),
    }


@cache
def environment() -> Any:
    """The environment of the templates, which escapes all text; raises UsageError without Jinja."""
    with importing("html", "HTML reports need jinja2"):
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else shown(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "link": lambda state: figures.state_link(**state),
        "words": words,
        "heat": figures.heat,
        "counted": count,
        "number": number,
        "points": points,
        "bounds": bounds,
        "p": lambda value: p_text(value).removeprefix("p ").removeprefix("= "),
    }
    return made


def shown(text: object) -> str:
    """A text with control characters and direction overrides replaced by their codes."""
    return _UNSEEN.sub(lambda match: f"[U+{ord(match.group()):04X}]", str(text))


def words(name: object) -> str:
    """A name from code, in words."""
    return shown(str(name).replace("_", " "))


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    digits = f"{value:.3g}"
    return f"{float(digits):,.0f}" if "e" in digits or abs(value) >= 100 else digits


def policy(*, live: bool) -> str:
    """What the page may load and run: its own scripts and style, by their digests, and images of this disk."""
    images = "data: 'self'" if live else "data: file:"
    requests = "; connect-src 'self'" if live else ""
    scripts = " ".join(f"'{_digest(_script(names))}'" for names in (SCRIPTS, LABEL_SCRIPTS, INDEX_SCRIPTS))
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_digest(_style())}'; img-src {images}{requests}; "
        "base-uri 'none'; form-action 'none'"
    )


def fingerprint(run: LoggedRun) -> str:
    """The digest of the run's identity and data, for any order of their fields."""
    import json

    facts = {"identity": run.facts.identity, "data_sha256": run.facts.described.get("data_sha256")}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _content(overview: Overview, *, live: bool) -> dict[str, Any]:
    run, forms = overview.run, asked(overview)
    judged, notes_of_judges = judgings(run)
    return {
        "judged": judged,
        "notes_of_judges": notes_of_judges,
        "run": run,
        "asked": forms,
        "overview": overview,
        "n": len(run.records),
        "expected": run.facts.expected,
        "started": run.facts.started,
        "failed": overview.summary.overall.failed,
        "wrong": overview.has_accuracy and overview.summary.overall.answered > overview.summary.overall.correct,
        "overall": forms.lead or figures.overall(overview),
        "measure": overview.description.measure,
        "meanings": [
            (name, says) for name in overview.summary.parts if (says := overview.description.metrics.get(name))
        ],
        "totals_of_run": figures.totals(overview),
        "gap": gap_words(overview.summary.parts, overview.description.headline),
        "statuses": figures.statuses(overview),
        "metrics": figures.metrics(overview),
        "breakdowns": figures.breakdowns(overview),
        "constants": figures.constants(overview),
        "heat_maps": figures.heat_maps(overview),
        "level_maps": figures.level_maps(overview),
        "variants": figures.variants(overview),
        "only": figures.only(overview),
        "curves": curves(overview),
        "level_curves": level_curves(overview),
        "histograms": histograms(overview),
        "totals": totals(overview),
        "limits": limits(overview),
        "spent": spent(overview),
        "settings": _settings(run),
        "fingerprint": fingerprint(run),
        "live": live,
        "policy": policy(live=live),
    }


def _settings(run: LoggedRun) -> list[tuple[str, list[tuple[str, str]]]]:
    described = {name: value for name, value in run.facts.described.items() if name != "settings"}
    settings = run.facts.settings
    given = {name: value for name, value in settings.items() if not _is_default(name, value)}
    return [
        ("What decides the answers", _leaves(run.facts.identity)),
        ("How replies are read and scored", _leaves(run.facts.scoring)),
        ("Settings given", _leaves(given)),
        ("Settings left at their defaults", _leaves({name: settings[name] for name in settings if name not in given})),
        ("Server, versions and data", _leaves(described)),
        ("Each start", _leaves({f"start {at}": entry for at, entry in enumerate(run.facts.sessions, 1)})),
    ]


@cache
def _defaults() -> dict[str, Any]:
    """The defaults of settings that commands share."""
    settings = RunSettings()
    shared = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {"pages": ALL_PAGES, "choice_mode": "text", "parser": "robust"} | shared


def _is_default(name: str, value: Any) -> bool:
    """Whether a setting is empty or has the default that commands share."""
    default = _defaults().get(name, False)
    return value in (None, "", [], default, list(default) if isinstance(default, tuple) else default)


def _leaves(value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, leaf if isinstance(leaf, str) else encode(leaf).decode()) for name, leaf in flat(value).items()]


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


@cache
def _style() -> str:
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in STYLES)


@cache
def _script(names: tuple[str, ...]) -> str:
    parts = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names)
    return f'(() => {{\n"use strict";\nconst UNSEEN = {unseen_in_javascript()};\n{parts}}})();\n'


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def limits(overview: Overview) -> list[str]:
    """Sentences on what limits the run and its figures, the most serious first."""
    return [*_missing(overview.run), *_failures(overview), *_truncated(overview), *_bottleneck(overview.run)]


def _missing(run: LoggedRun) -> Iterator[str]:
    total, expected = len(run.records), run.facts.expected
    if expected is not None and total < expected:
        yield f"{expected - total:,} of {expected:,} questions have not been asked yet."
    if run.records.unreadable:
        lines = numbered(run.records.unreadable_lines)
        yield f"{count(run.records.unreadable, 'line')} of the log can't be read and left out: {lines}."
    left_out = run.facts.described.get("left_out")
    for reason, number in left_out.items() if isinstance(left_out, dict) else ():
        yield f"Left out, {str(reason).replace('_', ' ')}: {number} of the questions."
    limit = run.facts.settings.get("limit")
    if isinstance(limit, int):
        yield f"Limited to the first {count(limit, 'instance')} of the data (--limit)."


def _failures(overview: Overview) -> Iterator[str]:
    for status, number in overview.whole.status_counts.items():
        if number and status not in ANSWERED:
            failure = overview.failures.get(status)
            example = f" For example: {cut(failure.message, 200)}" if failure else ""
            yield f"{count(number)}: {MEANINGS[status]}.{example}"
    repeats = overview.attempts - overview.whole.overall.total
    if repeats > 0:
        yield f"{repeats:,} of {overview.attempts:,} requests were repeats."


def _truncated(overview: Overview) -> Iterator[str]:
    number, total = overview.whole.n_truncated, overview.whole.overall.total
    if not number:
        return
    tokens = overview.run.facts.model_settings.get("max_tokens")
    at = f" at {tokens:,} tokens" if isinstance(tokens, int) else ""
    without = ""
    if overview.run.headline is None and (accuracy := overview.summary.without_truncated.value) is not None:
        without = f" Without them the accuracy is {100 * accuracy:.1f} %."
    yield f"{count(number, 'reply', 'replies')} ({100 * number / total:.1f} %) cut{at}.{without}"


def _bottleneck(run: LoggedRun) -> Iterator[str]:
    """The bottleneck of the longest start: means over several starts would describe none of them."""
    starts = {
        start.client.watched_s: session for session in run.facts.sessions if (start := read_start(session)) is not None
    }
    if not starts:
        return
    longest = starts[max(starts)]
    if len(run.facts.sessions) > 1:
        yield f"What follows is of the longest of {len(run.facts.sessions)} starts."
    yield from map(_as_sentence, limits_of(longest))
    yield from map(_as_sentence, states_of(longest))


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
