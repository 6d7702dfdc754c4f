"""`vqa-client serve local` as users type it."""

import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import forked
from vqa_client.shipped import shipped


def ended(*words: str, path: str | None = None) -> tuple[int, str, str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path:
        env["PYTHONPATH"] = path
    done = forked.run(["serve", "local", *words], env=env, text=True)
    return done.returncode, done.stdout, done.stderr


def test_a_dry_run_prints_the_command_without_a_config_and_without_mlx_vlm() -> None:
    words = f"PYTHONPATH={shipped('serve')} {sys.executable} -m tiny_vlm --host 127.0.0.1 --port 8000\n"
    assert ended("--dry_run") == (0, words, "")
    assert ended("--host", "0.0.0.0", "--port", "9001", "--dry-run")[1].endswith("--host 0.0.0.0 --port 9001\n")


@pytest.mark.skipif(find_spec("mlx_vlm") is not None, reason="mlx-vlm is installed here")
def test_without_the_extra_the_error_names_the_install_command() -> None:
    code, out, err = ended()
    assert (code, out) == (2, "")
    assert "the tiny VLM needs mlx-vlm" in err
    assert "pip install 'vqa-client[local]'" in err


def test_a_taken_port_is_found_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "mlx_vlm").mkdir()
    (tmp_path / "mlx_vlm" / "__init__.py").write_text("raise SystemExit('started')\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, out, err = ended("--port", port, path=str(tmp_path))
    assert (code, out) == (2, "")
    assert f"port {port}" in err
    assert "started" not in err
