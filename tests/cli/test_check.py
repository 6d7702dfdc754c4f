"""`vqa-client check` as people type it."""

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import forked
from tests.client.check.playing import seeing
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import error, ignores_images, only_path, require_key
from vqa_client.cli.check import as_json, as_text
from vqa_client.client.probing.findings import Checked, Finding

ENGINES = ("direct", "httpx2", "openai")


def check(*words: str) -> subprocess.CompletedProcess[str]:
    return forked.run(["check", *words], text=True)


KIND = Finding(name="kind", text="vllm")
FEW = Finding(name="picture_tokens", level="warning", text="few\x1b", hint="look")
BLIND = Finding(name="sight", level="unusable", text="blind")
GONE = Finding(name="reachable", level="unusable", text="no answer from http://h/v1", hint="is it running?")
SIGNS = "1.2 s; ! is a warning, - something to know, X makes the server unusable"


@pytest.mark.parametrize(
    ("model", "findings", "lines"),
    [
        (
            "m",
            (KIND, FEW, Finding(name="speed", level="note", text="slow"), FEW),
            [
                *("usable, with 2 warnings: m at http://h/v1", "checked found", "ok kind vllm"),
                *("! picture tokens few\\x1b", "hint: look", "- speed slow", "! picture tokens few\\x1b", "hint: look"),
            ],
        ),
        (
            "",
            (KIND, FEW),
            ["usable, with 1 warning: http://h/v1", "checked found", "ok kind vllm", "! picture", "hint"],
        ),
        ("", (KIND,), ["usable: http://h/v1", "checked found", "ok kind vllm"]),
        ("m", (KIND, BLIND), ["unusable: m at http://h/v1: blind", "checked found", "ok kind vllm", "X sight blind"]),
        ("m", (GONE,), ["unusable: no answer from http://h/v1", "hint: is it running?"]),
    ],
)
def test_findings_are_a_verdict_and_a_table(model: str, findings: tuple[Finding, ...], lines: list[str]) -> None:
    checked = Checked(base_url="http://h/v1", model=model, findings=findings, took_s=1.25)
    shown = [" ".join(line.split()) for line in as_text(checked).splitlines() if line.strip(" ─")]
    assert [line[: len(part)] for line, part in zip(shown, lines, strict=False)] == lines
    assert shown[len(lines) :] == ([SIGNS] if findings != (GONE,) else [])
    told = as_json(checked)
    assert (told["usable"], told["verdict"]) == (not lines[0].startswith("un"), lines[0])
    assert as_text(replace(checked, took_s=0.0)).count(SIGNS[5:]) == 0


def test_a_good_server_gets_a_verdict_a_table_and_exit_code_0() -> None:
    with FaultServer(seeing()) as server:
        done = check("--base_url", server.origin)
    assert done.returncode == 0
    verdict, *rows = done.stdout.splitlines()
    assert verdict == f"usable, with 1 warning: tiny-vlm at {server.base_url}"
    assert any(row.startswith(" ok   kind") and row.endswith("vllm") for row in rows)
    assert any("parameter guided choice" in row and "accepted, and ignored" in row for row in rows)
    assert any(row.startswith(" !    picture tokens by size") for row in rows)
    assert "showing it two pictures" in done.stderr
    last = [row for row in rows if row][-1]
    assert re.fullmatch(r"\d+\.\d s; ! is a warning, - something to know, X makes the server unusable", last)


def test_a_server_that_needs_a_clouds_login_is_asked_through_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "of-azure")
    path, sees = "/openai/deployments/x", seeing()

    def signed(received: Received) -> Script:
        return sees if received.headers.get("api-key") == "of-azure" else error(401, "no")

    with FaultServer(only_path(f"{path}/chat/completions", then=signed)) as server:
        address = f"{server.origin}{path}?api-version=2024-10-21"
        found = {engine: check("--base_url", address, "--model", "tiny-vlm", "--engine", engine) for engine in ENGINES}
    assert {engine: done.returncode for engine, done in found.items()} == {"direct": 3, "httpx2": 3, "openai": 0}
    assert found["openai"].stdout.startswith("usable"), found["openai"].stdout
    assert not [done for done in found.values() if "of-azure" in done.stdout + done.stderr]


def test_standard_output_has_only_json(tmp_path: Path) -> None:
    config = tmp_path / "model.json"
    config.write_text(
        json.dumps({"model_name": "tiny-vlm", "max_tokens": 9000, "extra_body": {"guided_choice": ["A"]}})
    )
    with FaultServer(seeing()) as server:
        done = check("--base_url", server.base_url, "--config", str(config), "--json")
    found = json.loads(done.stdout)
    assert found["usable"] is True
    assert found["fingerprint"]["parameters"]["stop"] == "honoured"
    warned = {finding["name"] for finding in found["findings"] if finding.get("level") == "warning"}
    assert warned == {"context_length", "picture_tokens_by_size", "parameter guided_choice"}


def test_the_configs_own_address_is_checked(tmp_path: Path) -> None:
    config = tmp_path / "model.json"
    with FaultServer(seeing()) as server:
        config.write_text(json.dumps({"model_name": "tiny-vlm", "max_tokens": 64, "base_url": server.base_url}))
        assert check("-c", str(config)).returncode == 0


def test_a_blind_server_ends_with_3(fault_server: StartsServers) -> None:
    server = fault_server(ignores_images(), kind="mlx-vlm")
    done = check("--base_url", server.base_url)
    assert done.returncode == 3
    assert done.stdout.startswith("unusable: tiny-vlm at ")
    assert "does not see images" in done.stdout
    assert server.violations == []


def test_an_unreachable_server_ends_with_3_and_a_verdict() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    done = check("--base_url", address, "--wait_for_server", "0", "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert found["usable"] is False
    assert "no answer from" in found["findings"][0]["text"]


def test_a_refused_key_is_reported_and_never_shown(fault_server: StartsServers) -> None:
    server = fault_server(require_key("right-key"))
    done = check("--base_url", server.base_url, "--api_key", "wrong-key")
    assert done.returncode == 3
    assert "refuses the key" in done.stdout
    assert "wrong-key" not in done.stdout + done.stderr
