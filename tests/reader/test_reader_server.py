import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from PIL import Image, ImageOps
from reader import CANT_FIND, MODEL

from tests.reader.asking import Client, chat, drawn, file, page
from tests.servers.processes import children, gone
from vqa_client.servers import reader

PROMPT = "What is the secret animal in the above context?"
TEXT = "The boats were out until noon. The secret animal is otter. Then the wind went round to the north."


def test_a_page_is_read_and_quoted(served):
    assert served.ask(PROMPT, page(TEXT)) == "The secret animal is otter."


def test_the_answer_depends_on_the_pixels_alone(served):
    assert served.ask(PROMPT, page(TEXT.replace("otter", "lynx"))) == "The secret animal is lynx."
    assert served.ask(PROMPT, page("Nothing to be seen here.")) == CANT_FIND
    assert served.ask(f"{TEXT} {PROMPT}", page("Nothing to be seen here.")) == CANT_FIND


def test_pages_are_read_in_order_as_one_text(served):
    pages = [page("The secret"), page("animal is beaver. The end.")]
    assert served.ask(PROMPT, *pages) == "The secret animal is beaver."
    assert served.ask(PROMPT, *reversed(pages)) == CANT_FIND


def test_the_reply_has_the_shape_of_a_chat_completion(served):
    status, reply = served.post(chat(PROMPT, page(TEXT)))
    assert status == 200
    assert reply["object"] == "chat.completion"
    assert reply["model"] == MODEL
    assert reply["choices"][0]["finish_reason"] == "stop"
    words = len(PROMPT.split()) + len(TEXT.split())
    assert reply["usage"] == {"prompt_tokens": words, "completion_tokens": 5, "total_tokens": words + 5}


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "TIFF", "WEBP", "BMP"])
def test_other_image_formats_are_read(served, kind):
    assert served.ask(PROMPT, page(TEXT, kind=kind)) == "The secret animal is otter."


def test_transparent_paper_is_white(served):
    image = Image.new("RGBA", (800, 400), (0, 0, 0, 0))
    image.putalpha(ImageOps.invert(drawn(TEXT)))
    assert served.ask(PROMPT, file(image)) == "The secret animal is otter."


def test_sixteen_bits_a_pixel_are_read(served):
    image = drawn(TEXT).convert("I").point(lambda grey: grey * 257).convert("I;16")
    assert served.ask(PROMPT, file(image)) == "The secret animal is otter."


def test_a_page_turned_by_its_exif_tag_is_read_upright(served):
    tag = Image.Exif()
    tag[0x0112] = 6  # to be turned clockwise by 90 degrees
    turned = file(drawn(TEXT).transpose(Image.Transpose.ROTATE_90), exif=tag)
    assert served.ask(PROMPT, turned) == "The secret animal is otter."


def test_a_page_is_read_once_however_often_it_is_asked_about(served):
    image = page(f"{TEXT} This page is asked about eight times at once.")
    asked, read = served.counts()
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: served.ask(PROMPT, image), range(8)))
    served.ask("Who?", image)
    assert set(replies) == {"The secret animal is otter."}
    assert served.counts() == (asked + 9, read + 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no image", "cannot identify image file"),
        (b"", "cannot identify image file"),
        (page(TEXT)[:600], "image file is truncated"),
        (page(TEXT, kind="JPEG")[:2000], "image file is truncated"),
    ],
    ids=["other bytes", "no bytes", "half a PNG", "half a JPEG"],
)
def test_a_broken_image_is_a_400_in_the_words_of_vllm(served, data, reason):
    for _ in "twice":
        status, reply = served.post(chat(PROMPT, page(TEXT), data))
        message = reply["error"].pop("message")
        assert status == 400
        assert reply["error"] == {"type": "BadRequestError", "param": "image", "code": 400}
        assert message.startswith(f"Failed to load image: {reason}")
        assert " at 0x" not in message
    assert served.ask(PROMPT, page(TEXT)) == "The secret animal is otter."


def test_other_mistakes_are_told_in_the_same_shape(served):
    assert served.post(b"{")[1]["error"]["type"] == "BadRequestError"
    assert served.post(b"[]")[0] == 400
    assert served.post(chat(PROMPT) | {"stream": True})[0] == 400
    status, reply = served.post(chat(PROMPT) | {"model": "gpt"})
    assert status == 404
    assert reply["error"]["message"] == "The model `gpt` does not exist."
    assert served.fetch("/nothing")[1]["error"]["code"] == 404


def test_a_killed_worker_costs_one_request_and_is_replaced(served):
    def ask(client, server):
        for pid in children(server.pid):
            shown = ["ps", "-ww", "-o", "args=", "-p", str(pid)]  # without -ww it cuts at 80 columns
            if "spawn_main" in subprocess.run(shown, capture_output=True, text=True).stdout:
                os.kill(pid, signal.SIGKILL)
                assert gone([pid])
        return client.post(chat(PROMPT, page(TEXT))), client.post(chat(PROMPT, page(TEXT)))

    async def main():
        async with reader.start(workers=1) as server:
            return await anyio.to_thread.run_sync(ask, Client(server.base_url), server)

    (status, reply), (second_status, _) = anyio.run(main)
    assert (status, reply["error"]["type"]) == (500, "InternalServerError")
    assert second_status == 200


def test_readings_can_outlive_the_server(served, tmp_path):
    async def main():
        launch = reader.launch(workers=1)
        launch.command.extend(["--cache-dir", str(tmp_path / "readings")])
        async with launch.running(start_timeout_s=60) as server:
            return await anyio.to_thread.run_sync(ask, Client(server.base_url))

    def ask(client):
        return client.ask(PROMPT, page(TEXT)), client.counts()

    assert anyio.run(main) == ("The secret animal is otter.", (1, 1))
    assert anyio.run(main) == ("The secret animal is otter.", (1, 0))


def test_a_server_without_its_language_data_says_what_to_install(served, tmp_path):
    code = (
        "import sys; import reader.ocr as ocr; ocr.MODEL_FILE = 'no.traineddata'; import reader.__main__ as main;"
        "sys.argv = ['reader', '--port', '0']; sys.exit(main.main())"
    )
    environment = {**os.environ, **reader.launch().env}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: no.traineddata not found: pip install")
