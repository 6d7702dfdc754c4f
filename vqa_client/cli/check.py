"""`vqa-client check`: can this server be trusted? Prints a verdict and a table; exit code 3 if it can't."""

import asyncio
import dataclasses
from typing import Any

import msgspec

from vqa_client.cli.streams import EXIT_OK, EXIT_SERVER, emit, emit_json, folded, safe, say, terminal_width
from vqa_client.cli.tables import new_console, printed
from vqa_client.client.check.examine import examine
from vqa_client.client.probing.findings import Checked, Finding, fingerprint
from vqa_client.client.session import open_session
from vqa_client.client.url import without_secrets
from vqa_client.errors import ServerUnusable
from vqa_client.model_config import ModelSettings, load_model
from vqa_client.reports.names import count
from vqa_client.settings.run import DEFAULT_BASE_URL, OneModelSettings
from vqa_client.settings.serve import CheckSettings

STYLES = {"ok": "", "note": "", "warning": "yellow", "unusable": "red"}
MARKS = {"ok": "ok", "note": "-", "warning": "!", "unusable": "X"}


def check(settings: CheckSettings) -> int:
    """Examine the server and print the findings, even if it can't be reached."""
    model = load_model(settings.config) if settings.config else None
    checked = asyncio.run(_examine_server(settings, model))
    if settings.json:
        emit_json(as_json(checked))
    else:
        emit(as_text(checked))
    return EXIT_SERVER if checked.worst else EXIT_OK


async def _examine_server(settings: CheckSettings, model: ModelSettings | None) -> Checked:
    base_url = settings.base_url or (model.base_url if model else None) or DEFAULT_BASE_URL
    run: OneModelSettings = dataclasses.replace(settings.as_run(), base_url=base_url)
    try:
        async with open_session(run, model, note=say) as session:
            return await examine(session.endpoint, session.model, timeout_s=settings.timeout, note=say)
    except ServerUnusable as error:
        finding = Finding(name="reachable", level="unusable", text=str(error), hint=error.hint)
        name = settings.model or (model.model_name if model else "")
        return Checked(base_url=without_secrets(base_url), model=name, findings=(finding,))


def verdict(checked: Checked) -> str:
    """The verdict in one line."""
    where = f"{safe(checked.model)} at {safe(checked.base_url)}".removeprefix(" at ")
    if checked.worst:
        text = safe(checked.worst[0].text)
        return f"unusable: {text}" if safe(checked.base_url) in text else f"unusable: {where}: {text}"
    warnings = len(checked.at("warning"))
    return (f"usable, with {count(warnings, 'warning')}" if warnings else "usable") + f": {where}"


def as_json(checked: Checked) -> dict[str, Any]:
    """One JSON object: the verdict, every finding, and the fingerprint that a run would keep."""
    return {
        "usable": not checked.worst,
        "verdict": verdict(checked),
        **msgspec.to_builtins(checked),
        "fingerprint": msgspec.to_builtins(fingerprint(checked)),
    }


def as_text(checked: Checked) -> str:
    """The verdict, a row for each finding, and the duration."""
    from rich import box
    from rich.table import Table

    console = new_console()
    console.print(folded(verdict(checked), terminal_width()), style="bold", soft_wrap=True)
    if [finding.name for finding in checked.findings] == ["reachable"]:  # nothing else could be tested
        console.print(folded(f"hint: {checked.findings[0].hint}", terminal_width()))
        return printed(console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "checked", "found"):
        table.add_column(heading, no_wrap=heading != "found")
    for finding in checked.findings:
        table.add_row(
            MARKS[finding.level], finding.name.replace("_", " "), _finding_text(finding), style=STYLES[finding.level]
        )
    console.print(table)
    if checked.took_s:
        console.print(f"{checked.took_s:.1f} s; ! is a warning, - something to know, X makes the server unusable")
    return printed(console)


def _finding_text(finding: Finding) -> Any:
    from rich.text import Text

    return Text(safe(finding.text) + (f"\nhint: {safe(finding.hint)}" if finding.hint else ""))
