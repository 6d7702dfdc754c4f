"""Data and images in an object store: the run equals the one with files, and no file contains a key."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from obstore.exceptions import GenericError

from tests.contract.samples import write_sample
from tests.fakes import s3
from tests.fakes.fixtures import StartsServers
from tests.fakes.s3 import BUCKET, KEY, SECRET, store_of
from tests.fakes.words import oracle
from tests.runs.sample import Sample
from vqa_client import arun
from vqa_client.errors import DataError, ServerUnusable, UsageError
from vqa_client.runs.reopened import rescore
from vqa_client.settings.declared import AskSettings, BenchmarkSettings
from vqa_client.tables import objects

pytestmark = pytest.mark.usefixtures("store_environment")


def sample(tmp_path: Path, count: int, **given: Any) -> Sample:
    (tmp_path / "bucket").mkdir()
    return Sample(tmp_path / "bucket", count, **given)


def answers(log: Path) -> list[tuple[Any, ...]]:
    found = map(json.loads, log.read_bytes().splitlines())
    names = [(each["question_id"], each["answer"], [image["sha256"] for image in each["images"]]) for each in found]
    return sorted(names)


async def test_a_run_on_an_object_store_equals_the_run_on_files(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sample(tmp_path, 5, pages=2)
    server = fault_server(oracle(of.replies()))
    [local] = await arun(of.settings(server.base_url, output=tmp_path / "local"))
    with store_of(of.root) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        there = {"data": Path(f"s3://{BUCKET}/data.json"), "images": Path(f"s3://{BUCKET}/pages")}
        settings = of.settings(server.base_url, output=tmp_path / "out", **there)
        [found] = await arun(settings)
        assert answers(found.log) == answers(local.log)
        assert found.summary.overall == local.summary.overall
        [again] = await arun(settings)
        assert (len(server.chats), again.incomplete) == (10, False)
        assert not rescore(found.log, write=True).changes
        assert store.asked.count("GET data.json") == 1
    run = json.loads((tmp_path / "out/clean_mc_eval.run.json").read_bytes())
    assert run["described"]["images_dir"] == f"s3://{BUCKET}/pages/clean/images"
    assert run["described"]["data_path"] == f"s3://{BUCKET}/data.json"
    record = json.loads(found.log.read_bytes().splitlines()[0])
    assert record["images"][0]["name"].startswith(f"s3://{BUCKET}/pages/clean/images/q")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert SECRET.encode() not in written


NOT_THERE = "look at the address again: bucket, folders and name, in upper and lower case"
NOT_A_FILE = {
    "charts": ("this is a folder, not a file", "name one file of the folder, or copy the folder to this disk"),
    "chart": ("there is no such object", NOT_THERE),
}


async def test_a_benchmarks_folder_in_a_store_is_read_in_its_form(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample("chartqa", tmp_path / "bucket/charts")
    (tmp_path / "bucket/charts/notes.txt").touch()
    server = fault_server("3")
    with store_of(tmp_path / "bucket") as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        given: dict[str, Any] = {"benchmark": "chartqa", "data": Path(f"s3://{BUCKET}/charts"), "api_key": None}
        settings = BenchmarkSettings(**given, output=tmp_path / "out", base_url=server.base_url)
        [report] = await arun(settings)
        assert (report.summary.overall.total, report.failed) == (4, 0)
        read = [name for name in store.asked if name.startswith("GET charts/")]
        assert "GET charts/notes.txt" not in read
        with pytest.raises(DataError, match=rf"^s3://{BUCKET}/charts has no data of this benchmark$") as caught:
            await arun(replace(settings, benchmark="pope"))
        assert caught.value.hint.startswith("known forms are ")
        for name, (words, hint) in NOT_A_FILE.items():
            with pytest.raises(DataError) as caught:
                objects.local_copy(Path(f"s3://{BUCKET}/{name}"))
            assert (str(caught.value), caught.value.hint) == (f"s3://{BUCKET}/{name}: {words}", hint)


@pytest.mark.parametrize("shots", [0, 1])
@pytest.mark.parametrize("scheme", ["s3", "http"])
async def test_images_beside_data_in_a_store_are_found_there(
    scheme: str, shots: int, tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sample(tmp_path, 2)
    server = fault_server(oracle({"[[q0]]": "red", "[[q1]]": "red"}))
    with store_of(of.root, signed=scheme == "s3") as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        root = f"s3://{BUCKET}" if scheme == "s3" else f"{store.address}/{BUCKET}"
        names = ["pages/clean/images/q0_page_001.png", f"{root}/pages/clean/images/q1_page_001.png"]
        rows = [{"image": name, "question": f"[[q{at}]] Colour?", "answer": "red"} for at, name in enumerate(names)]
        (of.root / "rows.json").write_text(json.dumps(rows))
        given: dict[str, Any] = {"benchmark": "ask", "data": Path(f"{root}/rows.json")}
        given |= {"shots": shots, "shots_from": f"{root}/rows.json", "images": Path(root)} if shots else {}
        settings = AskSettings(**given, output=tmp_path / "out", base_url=server.base_url, api_key=None)
        [report] = await arun(settings)
    assert (report.summary.overall.total, report.failed) == (2, 0)
    assert json.loads((tmp_path / "out/ask.json").read_bytes())["images_dir"] == root


async def test_a_missing_object_fails_only_its_question(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sample(tmp_path, 2)
    server = fault_server(oracle({"[[q0]]": "red"}))
    rows = [{"image": f"pages/clean/images/q{at}_page_001.png", "question": f"[[q{at}]]?"} for at in (0, 7)]
    (of.root / "rows.json").write_text(json.dumps(rows))
    given: dict[str, Any] = {"benchmark": "ask", "data": of.root / "rows.json", "images": Path(f"s3://{BUCKET}")}
    with store_of(of.root) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        [report] = await arun(AskSettings(**given, output=tmp_path / "out", base_url=server.base_url, api_key=None))
    assert report.failed == 1
    assert report.failures["bad_image"].message == (
        f"s3://{BUCKET}/pages/clean/images/q7_page_001.png: there is no such object"
    )


async def test_a_store_that_denies_access_during_a_run_stops_it(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, got = sample(tmp_path, 20), list[str]()
    server = fault_server(oracle(of.replies()))
    with store_of(of.root) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)

        def expires(call: str) -> None:
            got.extend([call] if call.endswith(".png") and call.startswith("GET") else [])
            if len(got) == 8:
                monkeypatch.setattr(s3, "KEY", "RENEWED")

        store.before = expires
        there = {"images": Path(f"s3://{BUCKET}/pages"), "check": False, "breaker_after": 5}
        with pytest.raises(ServerUnusable, match=r"5 questions in a row failed, .* bad_image: .* is denied") as caught:
            await arun(of.settings(server.base_url, max_workers=1, **there))
        assert caught.value.hint.startswith("make the images readable again; then run the same command again")
        assert len(server.chats) == 7
        monkeypatch.setattr(s3, "KEY", KEY)
        [report] = await arun(of.settings(server.base_url, **there))
    assert (report.failed, len(server.chats)) == (0, 20)


async def test_a_refusal_of_a_store_is_an_error_before_the_first_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sample(tmp_path, 1)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ANOTHER")
    with store_of(of.root) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        for there in ({"data": Path(f"s3://{BUCKET}/data.json")}, {"images": Path(f"s3://{BUCKET}/pages")}):
            with pytest.raises(DataError, match="access is denied") as caught:
                await arun(of.settings("http://127.0.0.1:9/v1", **there))
            assert "environment" in caught.value.hint


def test_the_least_recently_used_copies_are_removed_for_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_locks", {})
    monkeypatch.setenv(objects.VARIABLE, "0.000000250")
    cache = tmp_path / "cache" / "vqa-client" / "objects"
    with store_of(tmp_path / "bucket") as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        (tmp_path / "bucket").mkdir()
        copies = []
        for number in range(4):
            (tmp_path / "bucket" / f"{number}.json").write_bytes(bytes(100))
            copies.append(objects.local_copy(Path(f"s3://{BUCKET}/{number}.json")))
            os.utime(copies[-1].parent, (number, number))
            if number != 1:  # a process still uses the second one
                os.close(objects._locks.pop(copies[-1].parent))
        assert [path.exists() for path in copies] == [False, True, False, True]
        objects.local_copy(Path(f"s3://{BUCKET}/1.json"))
        assert store.asked.count("GET 1.json") == 1
        for given in ("many", "-1"):
            monkeypatch.setenv("VQA_CLIENT_CACHE_GB", given)
            with pytest.raises(UsageError) as caught:
                objects.local_copy(Path(f"s3://{BUCKET}/0.json"))
            assert str(caught.value) == f"VQA_CLIENT_CACHE_GB is {given!r}; it must be a number of at least 0"
            assert caught.value.hint == "gigabytes of local copies"
    assert float(objects.USUAL_GB) == 20
    assert len(list(cache.iterdir())) == 3


REFUSED = [
    ({"output": Path("s3://bucket/out")}, "--output can't be an address"),
    ({"data": Path("https://host/data.json?token=hidden")}, "https://host/data.json: a query or user"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
async def test_an_unsupported_address_is_named(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        await arun(sample(tmp_path, 1).settings("http://127.0.0.1:9/v1", **given))
    assert said in str(caught.value)
    assert "hidden" not in str(caught.value)


NO_NETWORK = "is there a network, and is the address right? a copy on this disk needs none"
CREDENTIALS = (
    "credentials, region and endpoint are taken from the environment, such as AWS_ACCESS_KEY_ID, "
    "GOOGLE_SERVICE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME"
)
ONE_FILE = "give the address of one file that anyone may read, or a copy on this disk"
NO_LISTING = "name one file of the folder, or copy it to this disk"
FAULTS = [
    ("GET http://169.254.169.254/latest/ failed", "there are no credentials for this store", CREDENTIALS),
    ("PUT status code: 401 Unauthorized", "access is denied", CREDENTIALS),
    ("PUT status code: 403 Forbidden", "access is denied", CREDENTIALS),
    ("GET ?list status code: 404 Not Found", "there is no such object", NOT_THERE),
    ("PROPFIND of /a: status code 405", "the server doesn't list folders", NO_LISTING),
    *((text, "can't be reached", NO_NETWORK) for text in ("kind: Connect", "kind: Timeout", "error sending request")),
    ("it broke\nfor a reason", "it broke", CREDENTIALS),
]


@pytest.mark.parametrize(("text", "words", "hint"), FAULTS)
def test_an_error_of_a_store_is_named_in_our_words(
    text: str, words: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise GenericError(text)

    monkeypatch.setattr("obstore.head", fails)
    for root in (f"s3://{BUCKET}", "http://127.0.0.1:9"):
        with pytest.raises(DataError) as caught:
            objects.check_object(f"{root}/rows.csv")
        assert str(caught.value) == f"{root}/rows.csv: {words}"
        is_open = hint == CREDENTIALS and root.startswith("http")
        assert caught.value.hint == (ONE_FILE if is_open else hint)


@pytest.mark.parametrize("address", ["s3://bucket/rows.csv?key=1", "https://me:key@127.0.0.1/rows.csv"])
def test_an_address_with_a_part_that_may_be_secret_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        objects.local_copy(Path(address))
    shown = address.partition("?")[0].replace("me:key@", "")
    assert (
        str(caught.value)
        == f"{shown}: a query or user in an address may be a key, and the run file repeats the address"
    )
    assert caught.value.hint == CREDENTIALS


UNREACHABLE = {
    "http://127.0.0.1:9/rows.csv": ("http://127.0.0.1:9/rows.csv: can't be reached", NO_NETWORK),
    "az://container/rows.csv": ("az://container: AZURE_STORAGE_ACCOUNT_NAME is not set", CREDENTIALS),
}


@pytest.mark.parametrize("address", UNREACHABLE)
def test_a_store_that_can_not_be_reached_is_named_with_the_way_out(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "PATIENCE", {"max_retries": 0})
    with pytest.raises(DataError) as caught:
        objects.local_copy(Path(address))
    assert (str(caught.value), caught.value.hint) == UNREACHABLE[address]
