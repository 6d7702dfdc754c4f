"""Your own questions: every form has the same questions, nothing is guessed, and errors name row and column."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from tests.contract.ask_forms import FORMS, REPLIES, ROWS, as_csv, as_messages, ask, report
from tests.contract.forms import draw
from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import likeliest_token, oracle
from vqa_client.cli.main import run_command


def sent(server: FaultServer) -> list[tuple[str, list[str]]]:
    """Each question's text and the digests of its images."""
    return sorted((chat.prompt, [image.sha256 for image in chat.images]) for chat in server.chats)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_four_questions(tmp_path: Path, fault_server: StartsServers, form: str) -> None:
    write, options = FORMS[form]
    folder = tmp_path / "data"
    folder.mkdir()
    server = fault_server(oracle(REPLIES))
    assert ask(write(folder), server.base_url, *options) == 0
    texts = ["\n".join(f"{label}. {text}" for label, text in zip("ABC", row["choices"], strict=False)) for row in ROWS]
    expected = [
        (f"{row['question']}\n\n{choices}\n\n", [hashlib.sha256(each).hexdigest() for each in row["image"]])
        for row, choices in zip(ROWS, texts, strict=True)
    ]
    assert sent(server) == sorted(expected)
    assert report(tmp_path if (tmp_path / "out").exists() else folder)["accuracy"] == 0.75


def test_messages_put_images_where_their_parts_are(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(oracle(REPLIES))
    assert ask(as_messages(tmp_path), server.base_url) == 0
    counts = {row["question"]: len(row["image"]) for row in ROWS}
    assert sorted(len(chat.images) for chat in server.chats) == sorted(counts.values())
    for chat in server.chats:
        assert [len(chat.images)] == [count for question, count in counts.items() if question in chat.prompt]
    assert report(tmp_path)["accuracy"] == 0.75


def test_earlier_turns_are_sent_as_they_are_and_the_last_user_turn_is_asked(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"{number}.png").write_bytes(draw(number))
    turns = [
        {"from": "human", "value": "What is it?"},
        {"from": "gpt", "value": "a disc"},
        {"from": "human", "value": "And <image 3>?"},
        {"from": "gpt", "value": "a cube"},
        {"from": "human", "value": "Which is <image 2>, [[q0]]?"},
        {"from": "gpt", "value": "a jar"},
    ]
    row = {"images": ["1.png", "2.png", "3.png"], "conversations": turns}
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    assert ask(tmp_path / "rows.json", "http://127.0.0.1:1", "--dry_run") == 0
    assert "[assistant] a cube\n[user] Which is \n[image 2: 2.png" in capsys.readouterr().out
    server = fault_server(oracle({"[[q0]]": "a jar"}))
    assert ask(tmp_path / "rows.json", server.base_url) == 0
    assert ask(tmp_path / "rows.json", server.base_url) == 0
    (chat,) = server.chats
    said = [(turn["role"], turn["content"]) for turn in chat.json["messages"]]
    words = [
        (role, content if isinstance(content, str) else [part.get("text", "image") for part in content])
        for role, content in said
    ]
    assert words == [
        ("user", ["image", "What is it?"]),
        ("assistant", "a disc"),
        ("user", ["And ", "image", "?"]),
        ("assistant", "a cube"),
        ("user", ["Which is ", "image", ", [[q0]]?"]),
    ]
    assert [image.sha256 for image in chat.images] == [hashlib.sha256(draw(number)).hexdigest() for number in (1, 3, 2)]
    assert report(tmp_path)["accuracy"] == 1
    (line,) = [json.loads(line) for line in (tmp_path / "out/ask.records.jsonl").read_text().splitlines()]
    assert line["prompt"].startswith("User: <image 1>What is it?\nAssistant: a disc\nUser: And <image 3>?\n")


def test_each_conversation_has_its_own_system_message(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = ["Be brief.", "Be exact.", ""]

    def write() -> None:
        rows = []
        for number, system in enumerate(systems):
            turns = [{"role": "user", "content": f"[[q{number}]]?"}, {"role": "assistant", "content": "x"}]
            rows.append({"messages": [{"role": "system", "content": system}][: bool(system)] + turns})
        (tmp_path / "rows.json").write_text(json.dumps(rows))

    server = fault_server("x")

    def said() -> list[list[str]]:
        turns = [[turn["content"] for turn in chat.json["messages"]] for chat in server.chats]
        return [[each if isinstance(each, str) else each[0]["text"] for each in of] for of in turns]

    write()
    assert ask(tmp_path / "rows.json", server.base_url, "--max_workers", "1") == 0
    assert said() == [["Be brief.", "[[q0]]?"], ["Be exact.", "[[q1]]?"], ["[[q2]]?"]]
    lines = [json.loads(line) for line in (tmp_path / "out/ask.records.jsonl").read_text().splitlines()]
    assert [line.get("system") for line in lines] == ["Be brief.", "Be exact.", None]
    systems[1] = "Be slow."
    write()
    assert ask(tmp_path / "rows.json", server.base_url) == 0
    assert said()[3:] == [["Be slow.", "[[q1]]?"]]
    assert ask(tmp_path / "rows.json", server.base_url, "--system", "One for all.") == 2
    assert "systems" in capsys.readouterr().err
    assert ask(tmp_path / "rows.json", server.base_url, "--dry_run", "--fresh") == 0
    assert "[system] Be slow.\n[[q1]]?" in capsys.readouterr().out


def test_true_and_false_are_yes_and_no_or_a_choice(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"question": f"[[q{number}]]?", "answer": answer}
        for number, answer in enumerate((True, False, True, "no", "No"))
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    replies = ("Yes, it is.", "False", "No", "I have no idea.", "There is no dog.\nAnswer: false")
    server = fault_server(oracle({f"[[q{number}]]": reply for number, reply in enumerate(replies)}))
    assert ask(tmp_path / "rows.json", server.base_url) == 0
    assert report(tmp_path)["accuracy"] == pytest.approx(3 / 5)
    path = tmp_path / "rows.csv"
    path.write_text("question,answer\n[[q0]]?,True\n[[q1]]?,FALSE\n[[q3]]?,false\n")
    assert ask(path, server.base_url, "--score", "exact", "--fresh") == 0
    lines = [json.loads(line) for line in (tmp_path / "out/ask.records.jsonl").read_text().splitlines()]
    assert sorted(line["references"] for line in lines) == [["no", "false"], ["no", "false"], ["yes", "true"]]
    assert "of True and False, which yes and no answer too" in capsys.readouterr().err
    assert run_command(["ask", str(path), "--to", str(tmp_path / "mine.py")]) == 0
    assert run_command(["selftest", str(tmp_path / "mine.py"), "--data", str(path)]) == 0
    written = (tmp_path / "mine.py").read_text()
    assert ("tuple(texts_of(truth_of(row.answer)))" in written, "choices_of" in written) == (True, False)
    rows[4]["answer"] = "no"
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert ask(tmp_path / "rows.json", server.base_url, "--choices", "yes,no", "--fresh") == 0
    assert report(tmp_path)["accuracy"] == pytest.approx(3 / 5)  # "False" says no


def test_a_statement_of_what_is_asked_says_yes_and_answers(tmp_path: Path, fault_server: StartsServers) -> None:
    replies = {
        "Is there a dog?": ("There is a dog in the picture.", "yes", 1),
        "Is there a cat?": ("There is no cat in the picture.", "no", 1),
        "Is there a cow?": ("There is a cow.", "no", 0),
        "Is there a fox?": ("There may be a fox.", "yes", 0),
        "Is there a hen?": ("There is a house.", "yes", 0),
        "Is his cap red?": ("His head isn't visible.", "no", 0),
        "How many owls are there?": ("3", "There are 3 owls.", 1),
        "How many rats are there?": ("There are 3 bats.", "There are 3 rats.", 0),
        "What color is the bag?": ("It is a blue bag.", "blue", 1),
        "On which side is the bus?": ("It's on the left side, not the right.", "left", 1),
    }
    rows = [{"question": question, "answer": answer} for question, (_, answer, _) in replies.items()]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    server = fault_server(oracle({question: reply for question, (reply, _, _) in replies.items()}))
    assert ask(tmp_path / "rows.json", server.base_url) == 0
    lines = [json.loads(line) for line in (tmp_path / "out/ask.records.jsonl").read_text().splitlines()]
    assert {line["output"]: line["score"] for line in lines} == {reply: right for reply, _, right in replies.values()}


def test_a_missing_option_leaves_the_others_their_letters(tmp_path: Path, fault_server: StartsServers) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("index\tquestion\tA\tB\tC\tanswer\n1\t[[q0]]\tred\tNone\tblue\tC\n2\t[[q1]]\ta\tb\tc\tB\n")
    server = fault_server(oracle({"[[q0]]": "C", "[[q1]]": "B"}))
    assert run_command(["ask", str(path), "--to", str(tmp_path / "mine.py")]) == 0
    out = ["-o", str(tmp_path / "own"), "--base_url", server.base_url, "--no_check", "--no-html"]
    assert run_command(["run", str(tmp_path / "mine.py"), "--data", str(path), *out]) == 0
    assert ask(path, server.base_url) == 0
    assert "[[q0]]\n\nA. red\nC. blue\n\n" in server.chats[0].prompt + server.chats[1].prompt
    assert sent(server)[::2] == sent(server)[1::2]
    assert report(tmp_path)["accuracy"] == 1


def test_open_questions_have_every_cheap_score_and_another_headline_asks_nothing(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"question": "[[q0]] How many?", "answer": "12"},
        {"question": "[[q1]] Where?", "answer": ["Paris", "in Paris"]},
        {"question": "[[q2]] What is it?", "answer": None},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = fault_server(oracle({"[[q0]]": "There are 12 of them", "[[q1]]": "Paris", "[[q2]]": "a kite"}))
    assert ask(path, server.base_url) == 0
    found = report(tmp_path, "ask_open")
    assert {name: of["overall"]["accuracy"] for name, of in found["scores"].items()} == {
        "contains": 1.0,
        "exact": 0.5,
        "anls": 0.5,
        "vqa": 0.5,
        "relaxed": 0.5,
        "f1": pytest.approx(0.5 * (1 + 2 / 4)),  # "12 of them"
    }
    assert report(tmp_path, "ask_no_answer")["accuracy"] is None
    assert "without an answer: 1 row, asked" in capsys.readouterr().err
    for score, accuracy in (("none", None), ("exact", 0.5)):
        assert ask(path, server.base_url, "--score", score) == 0
        assert len(server.chats) == 3
        assert report(tmp_path, "ask_open")["accuracy"] == accuracy


@pytest.mark.parametrize(
    ("options", "name", "asked"),
    [
        (["--circular"], "ask_circular", 3),
        (["--shuffle_choices"], "ask_shuffled", 1),
        (["--choice_mode", "structured"], "ask", 1),
        (["--choice_mode", "logprob"], "ask", 1),
    ],
)
def test_choices_without_known_answers_are_asked_in_every_way_and_have_no_accuracy(
    options: list[str], name: str, asked: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,A,B,C\n[[q0]] Which?,red,green,blue\n")
    server = fault_server(likeliest_token(lambda received: {"A": 0.9} if "[[" in received.prompt else {"red": 1.0}))
    assert ask(path, server.base_url, *options) == 0
    assert len({chat.prompt for chat in server.chats if "[[q0]]" in chat.prompt}) == asked
    found = report(tmp_path, name)
    if "--circular" in options:
        assert (found["questions_with_all_rotations"], found["same_letter"]["value"]) == (1, 100.0)
        assert (found["circular"]["value"], found["mean"]["value"], found["majority"]["n"]) == (None, None, 0)
        assert {of["accuracy"] for of in found["by_rotation"].values()} == {None}
        assert (found["questions"][0]["ground_truth"], found["questions"][0]["correct"]) == (None, None)
        found = {**found["all_variants"], "position_bias": found["position_bias"]}
    assert found["accuracy"] is None
    if "position_bias" in found:
        assert found["position_bias"]["positions"]["A"]["chosen_share"] == 100.0
        assert {of["right"] for of in found["position_bias"]["positions"].values()} == {0}


@pytest.mark.parametrize("answer", [(), ("--answer", "folder")])
def test_a_folder_of_images_is_asked_by_its_folders(
    tmp_path: Path, fault_server: StartsServers, answer: tuple[str, ...]
) -> None:
    for number, name in enumerate(("cat", "dog")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        (tmp_path / "photos" / name / f"{number}.png").write_bytes(draw(number))
    server = fault_server("It is a cat.")
    assert ask(tmp_path / "photos", server.base_url, "--prompt", "Which animal is this?", *answer) == 0
    assert report(tmp_path)["accuracy"] == 0.5
    assert {chat.prompt for chat in server.chats} == {"Which animal is this?"}


def test_columns_go_into_the_prompt_and_tags_place_images(tmp_path: Path, fault_server: StartsServers) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.png").write_bytes(draw(number))
    rows = [
        {"images": ["1.png", "2.png"], "question": "Is <image 2> [[q0]] newer?", "hint": "Look twice", "answer": "yes"}
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    server = fault_server("yes")
    assert ask(tmp_path / "rows.json", server.base_url, "--prompt", "{hint}: {question}") == 0
    parts = server.chats[0].json["messages"][-1]["content"]
    assert [part.get("text", "image") for part in parts] == ["image", "Look twice: Is ", "image", " [[q0]] newer?"]


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("See {image}: {question}", ["image", "See ", "image", ": Newer?"]),
        ("{image 2} or {image}? {question}", ["image", " or ", "image", "? Newer?"]),
        ("{image} and {image}", ["image", " and ", "image"]),
    ],
)
def test_a_prompt_has_places_for_images_and_never_their_paths(
    tmp_path: Path, fault_server: StartsServers, prompt: str, parts: list[str]
) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.png").write_bytes(draw(number))
    (tmp_path / "rows.json").write_text(
        json.dumps([{"image": ["1.png", "2.png"], "question": "Newer?", "answer": "no"}])
    )
    server = fault_server("yes")
    assert ask(tmp_path / "rows.json", server.base_url, "--prompt", prompt) == 0
    (chat,) = server.chats
    assert [part.get("text", "image") for part in chat.json["messages"][-1]["content"]] == parts
    assert len(chat.images) == 2


def test_the_data_of_mc_gives_its_accuracy_by_detection_alone(tmp_path: Path, fault_server: StartsServers) -> None:
    data = Path(__file__).parents[2] / "data/longbench/data.json"
    letters = {row["question"]: "ABCD"[number % 4] for number, row in enumerate(json.loads(data.read_text()))}
    server = fault_server(oracle({question: f"The answer is {letter}" for question, letter in letters.items()}))
    where = ["--base_url", server.base_url, "--no_check", "--no-html"]
    assert run_command(["ask", str(data), "-o", str(tmp_path / "ask"), *where]) == 0
    mc = ["mc", "--data_json", str(data), "--images_dir", str(data.parent / "clean"), "-o", str(tmp_path / "mc")]
    assert run_command([*mc, *where]) == 0
    ours = json.loads((tmp_path / "ask/ask.json").read_text())["accuracy"]
    theirs = json.loads(next((tmp_path / "mc").glob("*_mc_eval.json")).read_text())["accuracy"]
    assert 100 * ours == theirs


def test_the_detected_columns_make_a_benchmark_file_with_the_same_run(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = as_csv(tmp_path), tmp_path / "mine.py"
    assert run_command(["ask", str(path), "--images", str(path.parent), "--to", str(file)]) == 0
    assert f"run mine.py --data {path} --images {path.parent} -o results" in file.read_text()
    assert run_command(["selftest", str(file), "--data", str(path)]) == 0
    server = fault_server(oracle(REPLIES))
    assert ask(path, server.base_url) == 0
    first = sent(server)
    out = ["-o", str(tmp_path / "own"), "--base_url", server.base_url, "--no_check", "--no-html"]
    assert run_command(["run", str(file), "--data", str(path), *out]) == 0
    assert sent(server) == sorted([*first, *first])
    assert json.loads((tmp_path / "own/mine.json").read_text())["accuracy"] == 0.75
    assert "every score is 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "options", "written"),
    [
        ("question,answer\nWhich?,red\nWhat?,blue\n", ["--choices", "red,blue"], "choices_of(['red', 'blue'])"),
        ("question,image,answer\nWhich?,1.png,red\nWhat?,,blue\n", [], "images: tuple[Picture, ...] = ()"),
        ("question,A,B,answer\nWhich?,red,blue,A\nWhat?,,,\n", [], "choices: dict[str, str] = {}"),
        ("question,choices,answer\nWhich?,\"['a', 'b']\",b\nWhat?,,\n", [], "choices: Any = None"),
        ("question,answer\nWhich?,True\nWhat?,false\n", [], "texts_of(truth_of(row.answer))"),
        ("question,answer\nWhich?,a;b\n", ["--answers_separator", ";"], "texts_of(row.answer, ';')"),
        ("question,choices,answer\nWhich?,a;b,a\n", ["--choices_separator", ";"], "choices_of(row.choices, ';')"),
        ("question,subject,answer\nWhich?,art,red\nWhat?,law,red\n", [], "groups={'subject': str(row.group_0)}"),
        ("question,doc_id,answer\nWhich?,d,red\n", [], "cluster=str(row.document)"),
        ("doc_id,image,answer\nd,1.png,red\n", ["--prompt", "What is it?"], 'text="",'),
    ],
)
def test_a_written_benchmark_file_reads_the_detected_columns(
    tmp_path: Path, rows: str, options: list[str], written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = tmp_path / "rows.csv", tmp_path / "mine.py"
    path.write_text(rows)
    (tmp_path / "1.png").write_bytes(draw(1))
    assert run_command(["ask", str(path), "--to", str(file), *options]) == 0, capsys.readouterr().err
    assert written in file.read_text()
    assert run_command(["selftest", str(file), "--data", str(path)]) == 0, capsys.readouterr().err
    assert f"{sum(not row.endswith(',') for row in rows.splitlines()[1:])} question" in capsys.readouterr().out
    path.write_text("".join(rows.splitlines(keepends=True)[:1]) + "What?" + "," * rows.split("\n")[0].count(",") + "\n")
    assert run_command(["selftest", str(file), "--data", str(path)]) == 2
    assert "error: no question has an answer to test\nhint: --split names" in capsys.readouterr().err


def test_a_column_of_files_is_the_image_under_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bilder").mkdir()
    for name, content in (("1.png", draw(1)), ("2.png", b"not an image")):
        (tmp_path / "bilder" / name).write_bytes(content)
    path = tmp_path / "fragen.csv"
    path.write_text("Bild,Frage,Antwort\n1.png,Farbe?,rot\n2.png,Form?,rund\n")
    options = ["--question", "Frage", "--images", str(tmp_path / "bilder"), "--dry_run"]
    assert ask(path, "http://127.0.0.1:1", *options) == 0
    said = capsys.readouterr()
    assert {"[image 1: 1.png 24x16, 0.1 KB]", "[image 1: 2.png, which can't be read]"} <= {*said.out.splitlines()}
    assert "  image     column `Bild`, whose values are files\n  answer    none (--answer COLUMN)\n" in said.err


def test_a_dry_run_shows_the_first_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(as_csv(tmp_path), "http://127.0.0.1:1", "--dry_run", "--show", "2") == 0
    said = capsys.readouterr().out
    assert "--- rows#0   (right: A)\n[image 1: 0_0.png 24x16, 0.1 KB]\n[[q0]] Which colour?" in said
    assert "[[q2]]" not in said


def test_tables_of_a_run_have_the_columns_of_the_users_file(tmp_path: Path, fault_server: StartsServers) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"question": f"[[q{n}]] What?", "answer": "x", "shop": f"s{n}", "tags": ["é", n]} for n in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ask(path, fault_server("x").base_url) == 0
    assert run_command(["report", str(tmp_path / "out"), "--csv", "--jsonl", "--parquet"]) == 0
    with next((tmp_path / "out").glob("*.csv")).open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["data.shop"] for row in written] == ["s0", "s1", "s2"]
    assert [row["data.tags"] for row in written] == ['["é",0]', '["é",1]', '["é",2]']
    lines = next((tmp_path / "out").glob("*.table.jsonl")).read_text().splitlines()
    assert {row["question_id"]: row["data.shop"] for row in map(json.loads, lines)}["rows#1"] == "s1"
    path.unlink()
    assert run_command(["report", str(tmp_path / "out"), "--csv"]) == 0
    with next((tmp_path / "out").glob("*.csv")).open(newline="") as file:
        assert "data.shop" not in (csv.DictReader(file).fieldnames or ())


def test_the_columns_of_each_table_are_printed_whole_and_once_for_all_models(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"question,answer\nIs {name} here?,yes\n", encoding="utf-8")
    suite = tmp_path / "own.toml"
    suite.write_text("".join(f'[{name}]\nbenchmark = "ask"\ndata = "{name}.csv"\n' for name in "ab"), encoding="utf-8")
    models = ["--model", "small", "--model", "large", "-o", str(tmp_path / "out"), "--no_check"]
    server = fault_server("yes", models=("small", "large"))
    assert run_command(["suite", str(suite), "--base_url", server.base_url, *models]) == 0
    err = capsys.readouterr().err
    assert (err.count("column `question`"), err.count("a.csv: 1 row"), err.count("b.csv: 1 row")) == (2, 1, 1)
