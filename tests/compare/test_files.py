"""The files of a comparison: they are complete, and foreign text has no effect in them."""

import base64
import csv
import json
import random
import re
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from tests.compare.logged import DIGEST, many, put, record
from vqa_client.compare.write import compare_runs, write_comparison
from vqa_client.types import Failure, Record, SentImage

HOSTILE = [
    "</pre></article><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!-- --!> <style>*{display:none}</style>",
    "javascript:alert(1)",
    "&lt;b&gt; &amp;",
    "\x1b[31m\x00\r\n\u202eevil",
    "=1+1",
    'a,b\n"q"\r',
    "{{7*7}} ${x}",
]


class Page(HTMLParser):
    """A page as a browser reads it: its elements with attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.source = path.read_text("utf-8")
        self.feed(self.source)
        self.data: dict[str, Any] = json.loads(self.source.partition('id="data">')[2].partition("</script>")[0])

    def replies(self) -> dict[str, list[str | None]]:
        """What each run said to each question."""
        at, others = (self.data["columns"].index(name) for name in ("output", "others"))
        said = {row[0]: [row, *row[others]] for row in self.data["rows"]}
        strings = self.data["strings"]
        return {name: [one and strings[one[at]] for one in runs] for name, runs in said.items()}

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == name]


def written(tmp_path: Path, a: list[Record], b: list[Record], *, csv_safe: bool = False, **of_b: Any) -> Path:
    put(tmp_path / "a", a)
    put(tmp_path / "b", b, **({"model": "org/two"} | of_b))
    sides, compared = compare_runs([tmp_path / "a", tmp_path / "b"])
    paths = write_comparison(tmp_path / "out", sides, compared, html_images=10, csv_safe=csv_safe)
    assert [path.name for path in paths] == ["compare.json", "compare.csv", "compare_groups.csv", "compare.html"]
    return tmp_path / "out"


def hostile(text: str, score: float, variant: str = HOSTILE[0]) -> Record:
    return record(
        text,
        score=score,
        variant=variant,
        prompt=text,
        output=text,
        answer=text,
        references=(text,),
        groups={text: text, "kind": text},
        cluster=text,
        images=(SentImage(name=text, sha256="00", size_bytes=1, transforms=(text,)),),
        error=Failure(message=text),
    )


@pytest.mark.parametrize("variant", [HOSTILE[0], None])
def test_hostile_records_stay_text_on_the_page(variant: str | None, tmp_path: Path) -> None:
    a, b = ([hostile(text, score, variant or text) for text in HOSTILE] for score in (0.0, 1.0))
    page = Page(written(tmp_path, a, b, model=HOSTILE[0]) / "compare.html")
    count = Counter(name for name, _ in page.elements)
    assert not count.keys() & {"iframe", "object", "base", "img"}
    assert (count["script"], count["style"], count["link"]) == (2, 1, 1)
    assert all((attributes.get("href") or "#").startswith(("#", "data:,")) for _, attributes in page.elements)
    assert not {key for _, attributes in page.elements for key in attributes if key.startswith("on") or key == "style"}
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page.source.partition('id="data">')[0])
    assert page.replies().keys() <= set(HOSTILE)


def test_the_questions_on_the_page_are_those_of_the_variant_that_its_figures_are_of(tmp_path: Path) -> None:
    a, b = ([record(n, score=score, variant=v) for n in "12" for v in ("clean", "snow/1")] for score in (0.0, 1.0))
    out = written(tmp_path, a, b)
    assert len(Page(out / "compare.html").data["rows"]) == 2
    assert len(json.loads((out / "compare.json").read_text())["comparisons"][0]["flips"]) == 4


def test_the_policy_allows_the_page_its_own_style_and_script_and_nothing_else(tmp_path: Path) -> None:
    page = Page(written(tmp_path, many(1, 0.4, count=30), many(2, 0.6, count=30)) / "compare.html")
    policy = str(page.all("meta")[1]["content"])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for end in ("style", "script"):
        inside = page.source.rpartition(f"<{end}>")[2].partition(f"</{end}>")[0]
        assert base64.b64encode(sha256(inside.encode()).digest()).decode() in policy


def test_every_question_has_the_replies_of_all_runs(tmp_path: Path) -> None:
    a = [record("won", score=0.0, output="First says no."), record("lost"), record("same")]
    b = [record("won", output="Second says yes."), record("lost", score=0.0), record("same")]
    a = [replace(each, groups={"kind": "x"}) for each in a]
    put(tmp_path / "c", [record("won", output="Third.")], model="org/three")
    written(tmp_path, a, b)
    sides, compared = compare_runs([tmp_path / name for name in "abc"])
    write_comparison(tmp_path / "all", sides, compared, html_images=0, csv_safe=False)
    page = Page(tmp_path / "all" / "compare.html")
    assert page.replies() == {
        "won": ["First says no.", "Second says yes.", "Third."],
        "lost": ["It is a kettle.", "It is a boat.", None],
        "same": ["It is a kettle.", "It is a kettle.", None],
    }
    assert page.data["sides"] == ["org/one", "org/two", "org/three"]
    assert "org/one, %the run, %" in page.text
    assert page.data["fields"] == [{"name": "kind", "values": ["x"]}]


def test_numbers_of_the_square_link_to_their_questions(tmp_path: Path) -> None:
    a, b = scored("pqrstuvwxy", *(1,) * 3, *(0,) * 7), scored("pqrstuvwxy", 1, 0, 0, *(1,) * 3, *(0.9,) * 4)
    page = Page(written(tmp_path, a, b) / "compare.html")
    assert re.findall(r"side\.1=\w+\">(\d+)<small>(\S+?)&", page.source) == [(str(n), f"{n}0.0") for n in (1, 2, 3, 4)]
    assert ("org/one, %org/two, %" in page.text, "the run, %" in page.text) == (True, False)
    links = [str(link["href"]) for link in page.all("a") if str(link.get("href")).startswith("#side.0=")]
    of_sides = [str(link["href"]) for link in page.all("a") if str(link.get("href")).startswith("#side.")]
    assert of_sides[:2] == ["#side.0=not", "#side.1=not"]
    assert [link for link in links if "side.1" in link] == [
        f"#side.0={one}&side.1={other}" for one in ("right", "not") for other in ("right", "not")
    ]


@pytest.mark.parametrize(("parts", "head"), [({}, ""), ({"published": 0.5}, "published %")])
def test_the_answered_questions_are_beside_the_square(parts: dict[str, float], head: str, tmp_path: Path) -> None:
    a, b = ([record(name, score=score, parts=parts) for name in "qrs"] for score in (1.0, 0.0))
    rows = Page(written(tmp_path, a, b) / "compare.html").source.partition(">full marks</th>")[2]
    assert re.findall(r">([^<>\n]+)</t[dh]>", rows.partition("</table>")[0]) == [
        *("answered", "% of these", *filter(None, [head])),
        *("org/one", "3", "3", "100.0", *(["50.0"] if head else [])),
        *("org/two", "0", "3", "0.0", *(["50.0"] if head else [])),
    ]


def test_accuracy_is_plotted_against_the_cost_of_a_question(tmp_path: Path) -> None:
    a, b = ([record(name, prompt_tokens=n, completion_tokens=5) for name in "qrst"] for n in (95, 195))
    labels = [image.get("aria-label") for image in Page(written(tmp_path, a, b) / "compare.html").all("svg")]
    assert "org/one: 100.0 % for 100 tokens, org/two: 100.0 % for 200 tokens" in labels


def scored(names: str, *scores: float) -> list[Record]:
    return [record(name, score=score) for name, score in zip(names, scores, strict=True)]


def test_runs_with_images_and_without_are_side_by_side(tmp_path: Path) -> None:
    both = [
        [
            record(f"q{n}", score=float(n % 3 > less), variant=v)
            for n in range(9)
            for less, v in enumerate(("seen", "blind"))
        ]
        for _ in "ab"
    ]
    page = Page(written(tmp_path, *both) / "compare.html")
    assert "With images and without" in page.text


def test_images_are_shown_if_their_file_is_still_the_sent_one(tmp_path: Path) -> None:
    folder = tmp_path / "images & more"
    folder.mkdir()
    sent = []
    for name in ("kept.png", "changed.png", "gone.png"):
        Image.new("RGB", (900, 40), (len(name), 90, 60)).save(folder / name)
        data = (folder / name).read_bytes()
        sent.append(SentImage(name=name, sha256=sha256(data).hexdigest(), size_bytes=len(data)))
    (folder / "changed.png").write_bytes(b"x" * sent[1].size_bytes)
    (folder / "gone.png").unlink()
    a, b = ([record(each.name, score=score, images=(each,)) for each in sent] for score in (0.0, 1.0))
    put(tmp_path / "a", a, described={"settings": {"images_dir": str(folder)}})
    put(tmp_path / "b", b, model="org/two", described={"settings": {"images_dir": str(folder)}})
    write_comparison(tmp_path / "out", *compare_runs([tmp_path / "a", tmp_path / "b"]), html_images=10, csv_safe=False)
    data = Page(tmp_path / "out" / "compare.html").data
    shown = {name: (href, data["strings"][picture][:11]) for name, *_, href, picture, _ in data["images"]}
    assert shown["kept.png"] == ("../images%20%26%20more/kept.png", "data:image/")
    assert shown["changed.png"][1] == shown["gone.png"][1] == ""


def test_the_first_pictures_are_those_of_questions_that_changed(tmp_path: Path) -> None:
    sent = []
    for name in ("same.png", "changed.png"):
        Image.new("RGB", (30, 40), (len(name), 90, 60)).save(tmp_path / name)
        data = (tmp_path / name).read_bytes()
        sent.append(SentImage(name=name, sha256=sha256(data).hexdigest(), size_bytes=len(data)))
    for run in "ab":
        scores = {"same.png": 0.0, "changed.png": float(run == "b")}
        records = [record(each.name, score=scores[each.name], images=(each,)) for each in sent]
        put(tmp_path / run, records, model=run, described={"settings": {"images_dir": str(tmp_path)}})
    write_comparison(tmp_path, *compare_runs([tmp_path / "a", tmp_path / "b"]), html_images=1, csv_safe=False)
    data = Page(tmp_path / "compare.html").data
    assert [name for name, *_, picture, _ in data["images"] if data["strings"][picture]] == ["changed.png"]


def test_a_thousand_flips_with_pictures_fit_into_three_megabytes(tmp_path: Path) -> None:
    noise = random.Random(1)
    for number in range(40):
        Image.frombytes("RGB", (96, 128), noise.randbytes(96 * 128 * 3)).resize((600, 800)).save(
            tmp_path / f"{number}.jpg"
        )
    sent = [
        SentImage(name=path.name, sha256=sha256(data := path.read_bytes()).hexdigest(), size_bytes=len(data))
        for path in sorted(tmp_path.glob("*.jpg"))
    ]
    for run, score in (("a", 0.0), ("b", 1.0)):
        words = [" ".join(noise.choices(["kettle", "boat", "quay", "lantern"], k=120)) for _ in range(1_000)]
        records = [record(f"q{n}", score=score, output=said, images=(sent[n % 40],)) for n, said in enumerate(words)]
        put(tmp_path / run, records, model=run, described={"settings": {"images_dir": str(tmp_path)}})
    write_comparison(tmp_path, *compare_runs([tmp_path / "a", tmp_path / "b"]), html_images=200, csv_safe=False)
    assert (tmp_path / "compare.html").stat().st_size <= 3_000_000


def test_without_jinja_the_tables_are_written_and_the_page_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.compare.write.find_spec", lambda name: None)
    for name in "ab":
        put(tmp_path / name, [record("q")], model=name)
    sides, compared = compare_runs([tmp_path / "a", tmp_path / "b"])
    paths = write_comparison(tmp_path / "out", sides, compared, html_images=0, csv_safe=False)
    assert sorted(path.suffix for path in paths) == [".csv", ".csv", ".json"]
    assert set(paths) == set((tmp_path / "out").iterdir())


@pytest.mark.parametrize("csv_safe", [False, True])
def test_tables_give_every_text_back(csv_safe: bool, tmp_path: Path) -> None:
    texts = ["=1+1", "a,b", "line1\nline2", '"q"', "\r", "\x00", "+1", "-", "@x", "plain"]
    a, b = ([record(text, score=score, answer=text) for text in texts] for score in (0.0, 1.0))
    out = written(tmp_path, a, [*b, record("only b")], csv_safe=csv_safe)
    with (out / "compare.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    told = [f"{name} ({label})" for label in ("org/one", "org/two") for name in ("status", "answer", "score")]
    assert head == ["question_id", "variant", "cluster", "references", *told]
    given = {row[0].removeprefix("'") if csv_safe else row[0] for row in rows}
    assert given == {*texts, "only b"}
    assert len(rows) == len(texts) + 1
    assert any(row[0] == ("'=1+1" if csv_safe else "=1+1") for row in rows)
    (alone,) = (row for row in rows if row[0] == "only b")
    assert alone[4:] == ["", "", "", "ok", "kettle", "1.0"]


def test_every_file_of_a_small_comparison(tmp_path: Path) -> None:
    a = [record("q1", groups={"kind": "x"}, cluster="i1"), record("q2", score=0.0, groups={"kind": "y"}), record("q3")]
    b = [record("q1", score=0.0, groups={"kind": "x"}, cluster="i1"), record("q2", groups={"kind": "y"})]
    b.append(record("q4", references=("pot", "kettle", "pot")))
    for _ in range(2):  # over its own files
        out = written(tmp_path, a, b)
    told = json.loads((out / "compare.json").read_text())
    right, wrong = (
        {"status": "ok", "answer": name, "score": score} for name, score in (("kettle", 1.0), ("boat", 0.0))
    )
    (one,) = told["comparisons"]
    keys = "difference n clusters accuracy_a accuracy_b answered_by_both mcnemar paired_t bootstrap groups variants p"
    assert {*keys.split(), "sentence", "difference_shown", "a", "b", "task", "measure", "warnings"} < one.keys()
    assert (one["difference_shown"], one["only_a"], one["only_b"]) == (False, [["q3", ""]], [["q4", ""]])
    assert one["sentence"].startswith("No significant difference between org/two and org/one: over the same 2 vqa2 ")
    assert one["flips"] == [
        {"question_id": name, "variant": "", "references": ["kettle"], "a": first, "b": second}
        for name, first, second in (("q1", right, wrong), ("q2", wrong, right))
    ]
    unit = "accuracies, scores, differences and intervals are shares in [0, 1]; a difference is b less a"
    assert (list(told), told["unit"]) == (["vqa_client", "unit", "sides", "comparisons"], unit)
    facts = {"task": "vqa2", "variant": "", "scoring": {"version": "1"}, "data_sha256": DIGEST}
    assert told["sides"] == [
        {
            "label": model,
            "path": str(tmp_path / folder),
            "questions": 3,
            "runs": [{"log": str(tmp_path / folder / "vqa2_results.records.jsonl"), "model": model, **facts}],
        }
        for model, folder in (("org/one", "a"), ("org/two", "b"))
    ]
    assert (out / "compare.csv").read_text().splitlines() == [
        "question_id,variant,cluster,references,status (org/one),answer (org/one),score (org/one),"
        "status (org/two),answer (org/two),score (org/two),kind",
        "q1,,i1,kettle,ok,kettle,1.0,ok,boat,0.0,x",
        "q2,,,kettle,ok,boat,0.0,ok,kettle,1.0,y",
        "q3,,,kettle,ok,kettle,1.0,,,,",
        "q4,,,pot | kettle,,,,ok,kettle,1.0,",
    ]
    assert (out / "compare_groups.csv").read_text().splitlines() == [
        "a,b,field,value,n,clusters,accuracy_a,accuracy_b,difference,low,high,p,p_holm",
        "org/one,org/two,,,2,2,0.5,0.5,0.0,-1.0,1.0,1.0,1.0",
        "org/one,org/two,kind,x,1,1,1.0,0.0,-1.0,-1.0,1.0,1.0,1.0",
        "org/one,org/two,kind,y,1,1,0.0,1.0,1.0,-1.0,1.0,1.0,1.0",
    ]


def test_groups_are_one_row_each_after_the_whole(tmp_path: Path) -> None:
    out = written(tmp_path, many(1, 0.4), many(2, 0.6))
    with (out / "compare_groups.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["field"], row["value"]) for row in rows] == [("", ""), ("kind", "number"), ("kind", "other")]
    assert sum(int(row["n"]) for row in rows[1:]) == int(rows[0]["n"]) == 300
    assert float(rows[0]["low"]) < float(rows[0]["difference"]) < float(rows[0]["high"])


def test_the_json_is_strict_and_complete(tmp_path: Path) -> None:
    out = written(tmp_path, many(1, 0.4, partial=True), many(2, 0.6, partial=True))
    content = json.loads((out / "compare.json").read_text(), parse_constant=pytest.fail)
    (of,) = content["comparisons"]
    assert [side["label"] for side in content["sides"]] == ["org/one", "org/two"]
    assert content["sides"][0]["runs"][0]["data_sha256"] == "ab" * 32
    assert {"sentence", "difference", "mcnemar", "paired_t", "bootstrap", "minimum_detectable", "p_holm"} <= of.keys()
    assert "too narrow with few clusters" in of["bootstrap"]["note"]
    assert len(of["flips"]) == of["difference"]["higher"] + of["difference"]["lower"]
    assert of["flips"][0].keys() == {"question_id", "variant", "references", "a", "b"}


def test_questions_matched_only_by_id_are_in_one_row(tmp_path: Path) -> None:
    a, b = ([record(f"q{n}", score=score, variant=v) for n in range(3)] for score, v in ((0.0, "clean"), (1.0, "jpeg")))
    out = written(tmp_path, a, [*b[1:], record("q9", variant="jpeg")])
    with (out / "compare.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["question_id"] for row in rows] == ["q0", "q1", "q2", "q9"]
    assert [row["score (org/two)"] for row in rows] == ["", "1.0", "1.0", "1.0"]
    assert page_rows(out) == {"q1": 2, "q2": 2}


def page_rows(out: Path) -> dict[str, int]:
    return {name: len([one for one in runs if one]) for name, runs in Page(out / "compare.html").replies().items()}
