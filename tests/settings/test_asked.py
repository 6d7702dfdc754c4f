"""The options that select questions, those that contradict each other, and the part that a scheduler names."""

from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from vqa_client.errors import UsageError
from vqa_client.settings.divided import read_shard
from vqa_client.settings.judge import JudgeSettings
from vqa_client.settings.own_commands import ExplainSettings, McSettings, NiahSettings, Vqa2Settings
from vqa_client.settings.robustness import EvaluateSettings, RobustnessRun
from vqa_client.settings.run import DEFAULT_BASE_URL, RunSettings, entry_title, names_report
from vqa_client.settings.validation import check, option_helps
from vqa_client.types import FAILED, STATUSES


def mc(**given: Any) -> McSettings:
    return McSettings(data=Path("data.json"), output=Path("out"), **given)


def test_the_default_address_is_that_of_vllm() -> None:
    assert DEFAULT_BASE_URL == "http://localhost:8000/v1"


def test_an_existing_path_is_not_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("old:/rows.json")
    with pytest.raises(UsageError, match=r"^--data can't be an address: old://rows\.json$"):
        McSettings(data=path)
    path.parent.mkdir()
    path.touch()
    assert McSettings(data=path).data == path


def test_fields_have_their_former_names_too() -> None:
    former: dict[str, Any] = {"data_json": "data.json", "images_dir": "pages"}
    assert McSettings(**former) == McSettings(data=Path("data.json"), images=Path("pages"))
    assert replace(McSettings(data=Path("old.json")), **former) == McSettings(**former)
    parsers: dict[str, Any] = {"seed": "published", "seed_head": "published_latest"}
    assert {name: ExplainSettings(parser=name).parser for name in parsers} == parsers
    assert mc(parser="seed").parser == "published"


@pytest.mark.parametrize(
    ("entry", "part", "title"),
    [("", "", "mc"), ("", "clean", "mc clean"), ("mc", "clean", "mc clean"), ("mc, 2", "clean", "mc clean (mc, 2)")],
)
def test_a_title_names_the_part_of_the_data_and_a_table_of_another_name(entry: str, part: str, title: str) -> None:
    assert entry_title("mc", entry, part) == title


def test_a_folder_may_have_the_name_of_a_report(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    for name, is_report in {"a.json": True, "a.JSON": True, "a.jsonl": False, "a": False, "folder.json": False}.items():
        assert names_report(tmp_path / name) == is_report


def test_the_help_of_an_option_is_below_its_field_and_a_class_within_a_block_may_have_none() -> None:
    assert option_helps(McSettings)["data"] == "Questions in LongBench-v2's form."

    class Within:
        """Its text has a line
        at the margin.
        """

    assert option_helps(Within) == {}


def test_statuses_to_ask_again_are_named_one_by_one_or_as_failed() -> None:
    assert RunSettings().asked_again == frozenset()
    assert RunSettings(retry="empty, unparsed,").asked_again == {"empty", "unparsed"}
    assert RunSettings(retry="failed,refused").asked_again == FAILED | {"refused"}
    assert RunSettings(retry_failed=True).asked_again == RunSettings(retry="failed").asked_again


@pytest.mark.parametrize("words", ["ok", "fail", "empty unparsed", "all"])
def test_an_unknown_status_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match=f"unknown status '{words}' in --retry") as caught:
        RunSettings(retry=words)
    near = {"fail": "failed", "empty unparsed": "unparsed"}
    guess = f"did you mean {near[words]}? " if words in near else ""
    known = ", ".join(("failed", *(status for status in STATUSES if status != "ok")))
    assert caught.value.hint == f"{guess}known are {known}; --fresh asks all again"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"repeat": 2, "blind": True}, "--repeat and --blind"),
        ({"sample": 5, "limit": 5}, "--sample and --limit"),
        ({"by": "difficulty"}, "--by needs --sample"),
        ({"rate": 2.0}, "--rate"),
        ({"sample": 0}, "--sample is 0"),
        ({"repeat": 0}, "--repeat is 0"),
    ],
)
def test_contradicting_options_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        mc(**given)


def test_corruptions_are_not_asked_in_other_forms() -> None:
    with pytest.raises(UsageError, match=r"^--repeat can't be combined with corruptions$") as caught:
        RunSettings(repeat=2, corrupted=RobustnessRun())
    assert caught.value.hint == "a run for each"


def test_one_repeat_is_an_ordinary_run() -> None:
    assert mc(repeat=1).variations == ()


def test_a_text_only_run_shows_no_images_and_a_judge_only_those_that_are_asked_for() -> None:
    assert (mc().shows_images, mc(text_only=True).shows_images) == (True, False)
    assert (NiahSettings().shows_images, NiahSettings(text_only=True).shows_images) == (True, False)
    assert (JudgeSettings().shows_images, JudgeSettings(with_images=True).shows_images) == (False, True)


def test_a_sample_is_refused_beside_another_option_that_selects_questions() -> None:
    assert Vqa2Settings(sample=5).sample == ExplainSettings(sample=5).sample == 5
    assert Vqa2Settings(sample=5, num_questions=0).draws == Vqa2Settings(sample=5, num_questions=None).draws == ()
    assert ExplainSettings(sample=5, n_samples=None).draws == ()
    with pytest.raises(UsageError, match="--sample and --num_questions"):
        Vqa2Settings(sample=5, num_questions=100)
    with pytest.raises(UsageError, match="--sample and --n_samples"):
        ExplainSettings(sample=5, n_samples=100)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shuffle_choices": True, "circular": True}, "--shuffle_choices and --circular"),
        ({"repeat": 3, "circular": True}, "--repeat and --circular"),
        ({"repeat": 3, "blind": True, "circular": True}, "--repeat, --blind and --circular can't be combined"),
    ],
)
def test_one_order_of_the_choices_at_a_time(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        mc(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout": float("nan")}, "a finite number above 0"),
        ({"timeout": float("inf")}, "a finite number above 0"),
        ({"wait_for_server": float("nan")}, "a finite number of at least 0"),
        ({"max_workers": 2.5}, "a whole number of at least 1"),
        ({"rpm": 0.0}, "--rpm is 0.0; it must be a number above 0"),
        ({"max_workers": True}, "a whole number of at least 1"),
        ({"max_retries": float("inf")}, "a whole number of at least 0"),
        ({"image_quality": 101, "image_format": "jpeg"}, "a whole number from 1 to 100"),
        ({"seed": "x"}, "^--seed is 'x'; it must be a whole number$"),
        ({"max_retries": None}, "^--max_retries is None; it must be a whole number of at least 0$"),
        ({"presence_penalty": "x"}, "^--presence_penalty is 'x'; it must be a number$"),
        ({"dry_run": "no"}, "^--dry_run is of type str; it must be True or False$"),
        ({"api_key": b"secret"}, "^--api_key is of type bytes; it must be text$"),
        ({"header": {"api-key": "secret"}}, "^--header is of type dict; it must be text$"),
        ({"engine": 1.5}, "^--engine is 1.5; it must be one of direct, httpx2, openai$"),
    ],
)
def test_a_value_of_another_type_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        RunSettings(**given)


@pytest.mark.parametrize(
    "weights", ["0.6,0.1,0.1,0.1,0.1", ("0.6", "0.1", "0.1", "0.1", "0.1"), ("0.6,0.1", "0.1,0.1,0.1,")]
)
def test_weights_are_one_text_or_several(weights: Any) -> None:
    assert EvaluateSettings(runs=(Path("run"),), weights=weights).shares == [0.6, 0.1, 0.1, 0.1, 0.1]


ARRAYS = [
    ("3/64", {}, "3/64"),
    ("3/64 (SLURM_PROCID 2)", {}, "3/64"),  # as in run files of earlier versions
    (
        "auto",
        {"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_MAX": "7"},
        "1/8",
    ),
    (
        "auto",
        {"SLURM_ARRAY_TASK_ID": "8", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "8"},
        "8/8",
    ),
    ("auto", {"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "8"}, "5/8"),
    (
        "auto",
        {
            "SLURM_ARRAY_TASK_ID": "20",
            "SLURM_ARRAY_TASK_MIN": "10",
            "SLURM_ARRAY_TASK_MAX": "30",
            "SLURM_ARRAY_TASK_STEP": "10",
            "SLURM_ARRAY_TASK_COUNT": "3",
        },
        "2/3",
    ),
    (
        "auto/64",
        {"SLURM_ARRAY_TASK_ID": "64", "SLURM_ARRAY_TASK_COUNT": "1"},
        "64/64",
    ),
    ("auto/64", {"JOB_COMPLETION_INDEX": "0"}, "1/64"),
    ("auto", {"SLURM_PROCID": "3", "SLURM_NTASKS": "4"}, "4/4"),
    ("auto", {"RANK": "1", "WORLD_SIZE": "2"}, "2/2"),
]


@pytest.mark.parametrize(("text", "environment", "shard"), ARRAYS)
def test_a_shard_is_given_or_read_from_a_schedulers_variables(
    text: str, environment: dict[str, str], shard: str
) -> None:
    assert read_shard(text, environment) == shard


WRONG = [
    ("0/4", {}, "part 0 of 4"),
    ("5/4", {}, "part 5 of 4"),
    ("3", {}, "--shard is '3'"),
    ("auto", {}, "no variable of a scheduler"),
    ("auto", {"JOB_COMPLETION_INDEX": "2"}, "nothing says of how many (JOB_COMPLETION_INDEX 2)"),
    ("auto", {"SLURM_ARRAY_TASK_ID": "2"}, "nothing says of how many (SLURM_ARRAY_TASK_ID 2)"),
    ("auto/4", {"JOB_COMPLETION_INDEX": "4"}, "part 5 of 4 (JOB_COMPLETION_INDEX 4)"),
    ("auto/4", {"SLURM_ARRAY_TASK_ID": "0"}, "an array begins at 1"),
    ("auto", {"RANK": "one", "WORLD_SIZE": "2"}, "RANK is 'one'"),
    (
        "auto",
        {
            "SLURM_ARRAY_TASK_ID": "7",
            "SLURM_ARRAY_TASK_MIN": "3",
            "SLURM_ARRAY_TASK_MAX": "7",
            "SLURM_ARRAY_TASK_COUNT": "2",
        },
        "the array from 3 to 7 has 2 tasks",
    ),
]


@pytest.mark.parametrize(("text", "environment", "said"), WRONG)
def test_an_invalid_shard_is_refused(text: str, environment: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_shard(text, environment)
    assert said in str(caught.value)


def test_types_that_only_a_benchmark_of_ones_own_has_are_taken() -> None:
    kind = make_dataclass(
        "Own", [("names", list[str]), ("by", dict[str, int] | None), ("any", Any), ("size", float | str)]
    )
    check(kind(names=["a"], by={"a": 1}, any=object(), size="large"))
    check(kind(names=[], by=None, any=None, size=3))
    check(make_dataclass("Unset", [("topic", str, None), ("most", int, None)])())
    with pytest.raises(UsageError, match=r"^--size is of type list; it must be a number or text$"):
        check(kind(names=[], by=None, any=1, size=[]))
