import json
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import task_of
from tests.tasks.documents import BOM, mc_record, niah_record, two_pages, write_lines, write_list
from vqa_client.errors import DataError, UsageError
from vqa_client.runner import judge
from vqa_client.scoring.published.choice_readers import READINGS
from vqa_client.scoring.reply import READING_VERSION, Reply, reply_from
from vqa_client.settings.own_commands import McSettings
from vqa_client.task import Loaded, Source
from vqa_client.tasks import mc, registry
from vqa_client.tasks.longbench import Wanted, read_blacklist
from vqa_client.tasks.mc import SCORING_VERSION
from vqa_client.types import ChoiceMode, Choosing, Completion, Question

MC = "a record needs _id, question, choice_A to choice_D and answer; a file with `questions` is one for niah"
GOLDEN = Path(__file__).parents[3] / "shared/data/seed002_longbench"

PARSERS = ("robust", *READINGS)


def load(tmp_path: Path, records: list[Any], *, blacklist: Path | None = None, **options: Any) -> Loaded:
    wanted = Wanted(**({"pages": two_pages, "blacklist": read_blacklist(blacklist)} | options))
    return mc.load(write_list(tmp_path / "data.json", records), wanted)


def only_question(tmp_path: Path, **changes: Any) -> Question:
    (question,) = load(tmp_path, [mc_record("doc", **changes)]).questions
    return question


def reply(text: str, **changes: Any) -> Reply:
    return reply_from(Completion(text=text, **({"finish_reason": "stop"} | changes)))


def test_a_record_becomes_a_question_with_its_pages_and_groups(tmp_path: Path) -> None:
    assert only_question(tmp_path) == Question(
        id="doc",
        text="Which boat came in last?",
        images=("/pages/doc_page_001.png", "/pages/doc_page_002.png"),
        references=("B",),
        choices={"A": "the Gannet", "B": "the Petrel", "C": "the Skua", "D": "none of them"},
        groups={
            "difficulty": "easy",
            "length": "short",
            "context_length": "<8k",
            "domain": "Single-Document QA",
            "sub_domain": "Harbour books",
        },
    )


def test_list_and_lines_with_and_without_a_byte_order_mark_load_the_same(tmp_path: Path) -> None:
    records = [mc_record("a", question="Wer kam zuletzt – wer?\u2028?"), mc_record("b")]
    files = [
        write_list(tmp_path / "1.json", records),
        write_list(tmp_path / "2.json", records, bom=True, indent=2),
        write_lines(tmp_path / "3.jsonl", records),
        write_lines(tmp_path / "4.jsonl", records, bom=True),
    ]
    first, *others = [list(mc.load(file, Wanted(pages=two_pages)).questions) for file in files]
    assert [question.text for question in first] == ["Wer kam zuletzt – wer?\u2028?", "Which boat came in last?"]
    assert all(questions == first for questions in others)


@pytest.mark.parametrize(
    ("choice", "noted"), [("nan", True), (" NaN", True), ("<NA>", True), ("#N/A", True), ("banana", False)]
)
def test_a_choice_that_is_an_empty_cell_is_noted_with_its_question(tmp_path: Path, choice: str, noted: bool) -> None:
    found = load(tmp_path, [mc_record("a"), mc_record("b", choice_D=choice), mc_record("c", choice_A=choice)])
    assert [note.partition("does: ")[2] for note in found.notes] == (["2 (b, c)"] if noted else [])
    several = load(tmp_path, [mc_record(name, choice_A="nan") for name in "abcdef"]).notes
    says = "questions with a choice that says nan, as an empty cell of a table does: 6 (a, b, c, d, e, ...)"
    assert several == (f"{tmp_path / 'data.json'}: {says}",)


def test_questions_can_be_walked_over_again(tmp_path: Path) -> None:
    loaded = load(tmp_path, [mc_record("a"), mc_record("b")])
    assert list(loaded.questions) == list(loaded.questions)
    assert loaded.count == 2
    assert len(loaded.data_sha256) == 64


def test_questions_left_out_are_named_and_not_counted(tmp_path: Path) -> None:
    blacklist = tmp_path / "blacklist.txt"
    blacklist.write_bytes(BOM + b"# bad scans\r\n\r\nb\r\n  d  # torn\r\nnot-in-the-data\r\n")
    loaded = load(
        tmp_path,
        [mc_record(name) for name in "abcde"],
        blacklist=blacklist,
        pages=lambda name: () if name == "c" else two_pages(name),
    )
    assert read_blacklist(blacklist) == {"b", "d", "not-in-the-data"}
    assert [question.id for question in loaded.questions] == ["a", "e"]
    assert loaded.count == 2
    assert loaded.left_out == {"blacklisted": ("b", "d"), "no_images": ("c",)}


def test_the_limit_counts_instances_after_the_blacklist(tmp_path: Path) -> None:
    blacklist = tmp_path / "blacklist.txt"
    blacklist.write_text("a\n")
    loaded = load(tmp_path, [mc_record(name) for name in "abcd"], blacklist=blacklist, limit=2)
    assert [question.id for question in loaded.questions] == ["b", "c"]
    assert load(tmp_path, [mc_record("a")], limit=0).count == 0


def test_a_blacklist_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    for content in (None, b"\xff\xfe"):
        path = tmp_path / f"blacklist-{content}"
        if content:
            path.write_bytes(content)
        with pytest.raises(DataError, match="blacklist"):
            load(tmp_path, [mc_record("a")], blacklist=path)


def test_missing_groups_are_unknown_and_other_values_stay(tmp_path: Path) -> None:
    question = only_question(tmp_path, difficulty=..., length="xl", context=None, domain=None, sub_domain=7)
    assert question.groups == {
        "difficulty": "unknown",
        "length": "xl",
        "context_length": "unknown",
        "domain": "unknown",
        "sub_domain": "7",
    }
    assert only_question(tmp_path, context=...).groups["context_length"] == "unknown"
    assert only_question(tmp_path, context="").groups["context_length"] == "<8k"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"question": ...}, "question"),
        ({"question": None}, "question"),
        ({"choice_C": ...}, "choice_C"),
        ({"choice_D": 4}, "choice_D"),
        ({"answer": ...}, "answer"),
        ({"answer": None}, "answer"),
        ({"answer": ""}, "answer"),
        ({"answer": "E"}, "answer"),
        ({"answer": "the Petrel"}, "answer"),
        ({"context": ["page one"]}, "context"),
        ({"difficulty": {"level": 3}}, "difficulty"),
    ],
)
def test_a_wrong_field_is_named_with_its_record_and_file(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, [mc_record("good"), mc_record("bad-one", **changes)])
    message = str(caught.value)
    assert str(tmp_path / "data.json") in message
    assert "record 2" in message
    assert "bad-one" in message
    assert f"`{field}`" in message or f"$.{field}" in message
    assert caught.value.hint == MC


def test_a_record_without_id_is_named_by_its_index(tmp_path: Path) -> None:
    for changes in ({"_id": ...}, {"_id": ""}, {"_id": None}):
        with pytest.raises(DataError, match=r"record 1.*_id"):
            load(tmp_path, [mc_record("a", **changes)])


def test_repeated_ids_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data\.json: several records share an _id: 'a', 'c'$"):
        load(tmp_path, [mc_record(name) for name in "abacdc"])


def test_a_needle_file_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, [niah_record("a")])
    assert "niah" in caught.value.hint


def test_the_gold_letter_may_be_in_lower_case_with_spaces(tmp_path: Path) -> None:
    assert only_question(tmp_path, answer=" c ").references == ("C",)


def test_numbers_as_ids_are_ids(tmp_path: Path) -> None:
    (question,) = load(tmp_path, [mc_record("x", _id=17)]).questions
    assert (question.id, question.images[0]) == ("17", "/pages/17_page_001.png")


def test_the_default_prompt_is_the_published_one(tmp_path: Path) -> None:
    prompt = task_of("mc").prompt(only_question(tmp_path))
    assert prompt == ("Which boat came in last?\n\nA. the Gannet\nB. the Petrel\nC. the Skua\nD. none of them\n\n")


def test_prompts_equal_the_published_script_s() -> None:
    if not GOLDEN.is_dir():
        pytest.skip("the golden files are not here")
    prompts = json.loads((GOLDEN / "mc_parser_golden.json").read_text())["prompts"]
    template = json.loads((GOLDEN / "config_vqa/qwen3-vl.json").read_text())["prompt_template"]
    choices = {"A": "one", "B": "two", "C": "three", "D": "four"}
    question = Question(id="a", text="Q?", choices=choices, references=("A",))
    assert task_of("mc").prompt(question) == prompts["default"]
    assert task_of("mc", prompt_template=template).prompt(question) == prompts["shipped_template"]


def test_a_prompt_contains_no_image_and_no_context(tmp_path: Path) -> None:
    question = only_question(tmp_path)
    prompt = task_of("mc", prompt_template="{question} {choices}").prompt(question)
    assert "page_001" not in prompt
    assert "Gannet came in first" not in prompt


def test_text_only_puts_the_document_before_the_prompt(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, [mc_record("a", context="Line {question}\nend"), mc_record("b", context=None)], text_only=True
    )
    (question,) = loaded.questions
    assert question.images == ()
    assert loaded.left_out == {"no_context": ("b",)}
    task = task_of("mc", prompt_template="{question} {choices}", text_only=True)
    assert task.prompt(question).startswith("Context:\nLine {question}\nend\n\nWhich boat came in last? A. the Gannet")


def test_a_document_that_is_not_text_is_refused_before_a_text_only_run(tmp_path: Path) -> None:
    path = write_list(tmp_path / "data.json", [mc_record("a", context="x!")])
    path.write_bytes(path.read_bytes().replace(b"x!", b"\xff\xfe"))
    assert mc.load(path, Wanted(pages=two_pages)).count == 1
    with pytest.raises(DataError, match=r"data\.json: record 1.*'a'.*`context`"):
        mc.load(path, Wanted(text_only=True))


def test_without_images_or_text_only_there_is_nothing_to_show(tmp_path: Path) -> None:
    settings = McSettings(data=write_list(tmp_path / "data.json", [mc_record("a")]), output=tmp_path / "out")
    with pytest.raises(UsageError, match=r"^there are no page images to show$") as caught:
        list(registry.find("mc").make(settings).load(Source(settings=settings)))
    assert caught.value.hint == "give their folder as --images, or --text_only"


def test_unknown_parsers_and_placeholders_are_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="strict"):
        task_of("mc", parser="strict")
    with pytest.raises(UsageError, match=r"\{context\}"):
        task_of("mc", prompt_template="{context} {question} {choices}")


@pytest.mark.parametrize(
    ("text", "robust", "published", "longbench"),
    [
        ("The correct answer is (B).", 1, 1, 1),
        ("B", 1, 1, 0),
        ("I think a better answer is B", 1, 0, 0),
        ("The correct answer is (C).", 0, 0, 0),
    ],
)
def test_every_score_has_all_three_parsers(
    tmp_path: Path, text: str, robust: int, published: int, longbench: int
) -> None:
    question = only_question(tmp_path)
    expected = {"robust": robust, "published": published, "longbench": longbench}
    for parser in PARSERS:
        task = task_of("mc", parser=parser)
        score = task.score(task.parse(reply(text), question), reply(text), question)
        assert score.parts == expected
        assert score.value == expected[parser]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("completion", "status"),
    [
        (reply(""), "empty"),
        (reply("", finish_reason="length"), "truncated"),
        (reply("The boats are what this is about, so we look at them first and", finish_reason="length"), "truncated"),
        (reply("I like boats."), "unparsed"),
    ],
)
def test_a_reply_without_answer_has_the_same_status_under_every_parser(
    tmp_path: Path, parser: str, completion: Reply, status: str
) -> None:
    question = only_question(tmp_path)
    task = task_of("mc", parser=parser)
    answer = task.parse(completion, question)
    assert (answer.text, answer.status) == (None, status)
    assert task.score(answer, completion, question).value == 0.0


def test_the_parser_is_part_of_what_scores_depend_on() -> None:
    assert task_of("mc", parser="published").scoring["parser"] == "published"
    assert task_of("mc").scoring != task_of("mc", parser="longbench").scoring


def test_a_task_given_its_own_references_scores_full(tmp_path: Path) -> None:
    question = only_question(tmp_path)
    for parser in ("robust", "published"):
        task = task_of("mc", parser=parser)
        completion = reply(question.references[0])
        assert task.score(task.parse(completion, question), completion, question).value == 1.0


QUESTION = Question(id="q", text="Which?", references=("B",), choices=dict(zip("ABCD", "wxyz", strict=True)))


def test_text_is_the_default_and_asks_as_before() -> None:
    task = task_of("mc")
    assert task.choosing is None
    assert task.scoring == {"parser": "robust", "version": f"{READING_VERSION}.{SCORING_VERSION}"}
    assert task.prompt(QUESTION) == "Which?\n\nA. w\nB. x\nC. y\nD. z\n\n"


@pytest.mark.parametrize("mode", ["structured", "logprob"])
def test_the_other_modes_ask_for_a_letter_and_have_a_scoring_of_their_own(mode: ChoiceMode) -> None:
    task = task_of("mc", choice_mode=mode)
    assert task.choosing == Choosing(mode=mode, labels=("A", "B", "C", "D"))
    assert (task.scoring["choice_mode"], task.headline) == (mode, mode)
    assert task.prompt(QUESTION).endswith("D. z\n\nAnswer with the letter alone.")
    assert task_of("mc", choice_mode=mode, prompt_template="{question}{choices}").prompt(QUESTION).endswith("D. z")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="--choice_mode is 'guess'"):
        task_of("mc", choice_mode="guess")


def test_a_blocked_reply_has_no_share_of_anything() -> None:
    completion = Completion(text="B", finish_reason="content_filter", first_token={"B": -0.1})
    answer, score = judge(completion, QUESTION, task_of("mc", choice_mode="logprob"))
    assert (answer.status, answer.probabilities, score.value) == ("refused", {}, 0.0)
    assert score.parts == {"logprob": 0.0, "probability": 0.0, "margin": 0.0, "mass": 0.0}


def test_the_right_label_may_be_without_a_probability() -> None:
    completion = Completion(text="A", first_token={"A": -0.1, "The": -3.0})
    answer, score = judge(completion, QUESTION, task_of("mc", choice_mode="logprob"))
    assert (answer.text, score.value) == ("A", 0.0)
    assert (score.parts["probability"], score.parts["margin"]) == (0.0, 1.0)
