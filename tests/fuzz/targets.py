"""The targets of fuzzing: each takes any bytes, and may fail only with the errors in its row."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import httpx2
from msgspec import Struct
from PIL import Image as PillowImage

from tests.scoring.choice_label_sets import VEHICLES
from vqa_client.answers.annotated import read_annotations
from vqa_client.answers.predictions import read_predictions
from vqa_client.cli.streams import safe
from vqa_client.client import retry
from vqa_client.client.failures import error_message, excerpt
from vqa_client.client.messages import _unpack
from vqa_client.client.probe import Served, cards_of, json_object
from vqa_client.client.reply_room import REPLY_LIMIT_BYTES
from vqa_client.client.url import candidates, join, without_secrets
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.errors import DataError, QuestionFailed, UsageError
from vqa_client.images.facts import facts
from vqa_client.images.recode import recode
from vqa_client.images.steps import Recipe
from vqa_client.model_config import load_model
from vqa_client.records import RecordLog
from vqa_client.reports.names import safe_name
from vqa_client.runs.run_file import RunFile
from vqa_client.scoring.choices.choice import read_choice
from vqa_client.scoring.choices.trace import explain_choice
from vqa_client.scoring.explained_answer import (
    read_label,
    read_phrase,
    read_reason,
    read_sentence,
    read_two_letters,
)
from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.short_answers import contains
from vqa_client.scoring.strict.containment import contains_strict, count_numbers
from vqa_client.scoring.vqa2 import enhanced_score_by_words
from vqa_client.scoring.vqa_accuracy import question_accuracy
from vqa_client.scoring.yes_no import yes_or_no
from vqa_client.tables.data_file import read_index
from vqa_client.types import Answer, Completion, Record

MOST_PIXELS = 1_000_000
"""The largest image; larger ones would only keep the fuzzer in decoders, and limits have their own tests."""


class Target(Struct, frozen=True):
    """A function of any bytes, the errors that it may raise, and its seeds."""

    run: Callable[[bytes], None]
    allowed: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]

    def __call__(self, data: bytes) -> None:
        """Run it; any other error is a bug."""
        with contextlib.suppress(*self.allowed):
            self.run(data)


def _choice(data: bytes) -> None:
    completion = _completion(data)
    answer = read_choice(completion, VEHICLES)
    _consistent(answer, VEHICLES)
    assert explain_choice(completion, VEHICLES).answer == answer


def _explained(data: bytes) -> None:
    reply = reply_from(_completion(data))
    for answer in (read_label(reply), read_phrase(reply), read_sentence(reply)):
        _consistent(answer)
    _consistent(read_reason(reply, VEHICLES), VEHICLES)
    _consistent(read_two_letters(reply, VEHICLES, VEHICLES))


def _completion(data: bytes) -> Completion:
    text = data.decode("utf-8", "replace")
    said, _, thought = text.partition("\x00")
    finish = (None, "stop", "length", "content_filter")[len(data) % 4]
    return Completion(text=said, reasoning=thought or None, finish_reason=finish)


def _consistent(answer: Answer, labels: dict[str, str] | None = None) -> None:
    """There is an answer exactly if the status says so, and it is one of the question's labels."""
    assert (answer.text is not None) == (answer.status == "ok"), answer
    assert answer.text is None or labels is None or answer.text in labels, answer


def _strings(data: bytes) -> None:
    gold, _, said = data.decode("utf-8", "replace").partition("\x00")
    assert not contains("", said)
    assert not contains_strict("", said)
    assert contains_strict(gold, said) in (True, False)
    assert count_numbers(said) >= 0
    assert yes_or_no(said) in ("yes", "no", None)
    assert 0 <= enhanced_score_by_words(gold, said) <= 1
    assert 0 <= question_accuracy(said, [gold, said, gold, "yes"]) <= 1


def _wire(data: bytes) -> None:
    read = read_reply(200 if data[:1] != b"5" else 500, "application/json", data)
    Completion(**{name: getattr(read, name) for name in read.__struct_fields__})
    read.text.encode()


def _probes(data: bytes) -> None:
    served = Served(base=httpx2.URL("http://localhost"), cards=cards_of(json_object(data)))
    assert all(isinstance(name, str) for name in served.models)
    assert served.loaded is None or served.loaded in served.models
    assert served.context_length is None or isinstance(served.context_length, int)


def _words(data: bytes) -> None:
    assert "base64," not in excerpt(b"data:image/png;base64," + data.hex().encode())
    error_message(data).encode("utf-8", "surrogatepass")
    text = data.decode("latin-1")
    wish_s = retry.retry_after_s({"retry-after": text, "retry-after-ms": text[::-1], "date": text}, 1.8e9)
    assert wish_s is None or wish_s > 0


def _coding(data: bytes) -> None:
    coding = ("gzip", "deflate", "gzip, deflate", "identity")[len(data) % 4]
    content = _unpack(data, coding, REPLY_LIMIT_BYTES)
    assert content is not None
    assert len(content) <= REPLY_LIMIT_BYTES


def _address(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    host = "".join(character for character in text if character not in "/?#@")
    for base in _bases(text, ""):
        join(base, "/models")
    named = (f"http://user:s3cret@{host}", f"user:s3cret@{host}:99999/v1", f"http://h/v1?api_key=s3cret#{host}")
    assert "s3cret" not in "".join(without_secrets(base) for given in named for base in _bases(given, "s3cret"))


def _bases(address: str, secret: str) -> list[httpx2.URL]:
    try:
        return candidates(address)
    except UsageError as refused:
        told = f"{refused} {refused.hint}"
    if secret and secret in told:
        raise AssertionError(told)
    return []


def _data(data: bytes) -> None:
    with _file(data, "data.json") as path:
        file = read_index(path)
        for index, record in file.records():
            file.decode(index, record, dict)


def _vqa2(data: bytes) -> None:
    with _file(data, "questions.json") as path:
        file = read_index(path, "questions")
        for index, record in file.records():
            file.decode(index, record, dict)


def _records(data: bytes) -> None:
    """A damaged log can be opened, written, and opened again without an error."""
    with _file(data, "x.records.jsonl") as path:
        with RecordLog(path) as log:
            kept = [(record.question_id, record.variant) for record in log]
            log.append(Record(question_id="new", status="ok"))
        with RecordLog(path) as log:
            assert not log.repaired
            assert {*kept, ("new", "")} == {(record.question_id, record.variant) for record in log}
            assert path.read_bytes().endswith(b"\n")


def _run_file(data: bytes) -> None:
    with _file(data, "x.run.json") as path:
        read = RunFile.read(path)
        assert read is not None
        read.model()


def _config(data: bytes) -> None:
    with _file(data, "config.json") as path:
        load_model(str(path))


def _scores(data: bytes) -> None:
    for name in ("predictions.json", "predictions.csv", "predictions.records.jsonl"):
        with _file(data, name) as path, contextlib.suppress(DataError, UsageError):
            read_predictions(path)
    with _file(data, "annotations.json") as path:
        read_annotations(path)


def _sniffed(data: bytes) -> None:
    found = facts(data)
    assert found.width >= 0
    assert found.height >= 0
    if 0 < found.width * found.height <= MOST_PIXELS:
        made = recode(data, found, Recipe(max_pixels=10_000, image_format="jpeg"), "the image")
        assert made is None or made.width * made.height <= 10_000


def _names(data: bytes) -> None:
    name = data.decode("utf-8", "surrogateescape")
    safe_file = safe_name(name)
    assert safe_file not in ("", ".", "..")
    assert not set(safe_file) & set('/\\\0:*?"<>|\n\r\t')
    assert len(safe_file.encode()) < 200
    assert (safe_file == safe_name(name + "/")) is False
    shown = safe(name)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in shown), shown


@contextlib.contextmanager
def _file(data: bytes, name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


def _picture(form: str, mode: str = "RGB") -> bytes:
    buffer = BytesIO()
    PillowImage.new(mode, (9, 7)).save(buffer, form)
    return buffer.getvalue()


_ROW = b'{"question_id": 1, "image_id": 2, "answers": [{"answer": "yes"}], "multiple_choice_answer": "yes"}'
_RECORD = (
    b'{"question_id":"q1","variant":"","status":"ok","output":"B","images":[{"name":"a","sha256":"","size_bytes":1}]}'
)
_REFUSED = (DataError, UsageError)

TARGETS: dict[str, Target] = {
    "choices": Target(
        _choice, (), (b"The answer is C.", b"<think>A</think>\n**Final answer:** (B)", b'{"answer":"D"}')
    ),
    "explanations": Target(_explained, (), (b"entailment because it rains", b"yes, since it is wet", b"A because")),
    "strings": Target(_strings, (), (b"5\x00There are 15.", b"20%\x00about 20 %", b"yes\x00No, it isn't.")),
    "replies": Target(
        _wire,
        (NotACompletion,),
        (b'{"choices":[{"message":{"content":"B"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}', b"<html>"),
    ),
    "refusals": Target(
        _words, (), (b'{"error":{"message":"m","code":400}}', b"<title>502</title>", b"Sun, 06 Nov 1994")
    ),
    "model lists": Target(
        _probes, (), (b'{"data":[{"id":"m","max_model_len":2048,"meta":{"n_ctx":1},"loaded":true}]}',)
    ),
    "codings": Target(_coding, (httpx2.RemoteProtocolError,), (b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0",)),
    "addresses": Target(
        _address, (UsageError,), (b"localhost:8000/v1", b"http://[::1]:80/", b"https://h/v1?a=b", b"loca/v80 :t%01")
    ),
    "data files": Target(
        _data, (DataError,), (b'[{"_id": "a", "context": "\\u00e9"}]', b'\xef\xbb\xbf{"_id": 1}\n{"_id": 2}\n')
    ),
    "VQA files": Target(
        _vqa2, (DataError,), (b'{"data_subtype": "val2014", "questions": [' + _ROW + b"]}", b"[" + _ROW + b"]")
    ),
    "record logs": Target(_records, _REFUSED, (_RECORD + b"\n" + _RECORD[:40], _RECORD, b"\0" * 50)),
    "run files": Target(
        _run_file, _REFUSED, (b'{"identity":{"model":{"model_name":"m","max_tokens":1}},"scoring":{}}',)
    ),
    "configs": Target(_config, _REFUSED, (b'{"model_name":"m","max_tokens":8,"extra_body":{"a":[1]},"timeout":3}',)),
    "score files": Target(_scores, _REFUSED, (b"[" + _ROW + b"]", b"question_id,answer\n1,yes\n", _RECORD)),
    "images": Target(
        _sniffed,
        (QuestionFailed,),
        (*tuple(map(_picture, ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"))), _picture("PNG", "I;16")),
    ),
    "names": Target(_names, (), (b"meta-llama/Llama", b"..", b"CON.txt", b"a\x1b[31m/../../b", "ſ/é".encode())),
}
