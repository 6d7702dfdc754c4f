"""The files of a comparison: nothing in them is lost, and nothing foreign gets out of its place."""

import base64
import csv
import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.compare.logged import many, put, record
from vqa_client.compare.tags import escaped, tag
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
ALLOWED = {"class", "id", "href", "src", "alt", "loading", "charset", "http-equiv", "content", "name", "lang", "scope"}
DRAWN = {"viewbox", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "role", "aria-label"}


class Page(HTMLParser):
    """What a browser would see of a page: its elements with attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.source = path.read_text("utf-8")
        self.feed(self.source)

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


def test_hostile_records_stay_text_on_the_page(tmp_path: Path) -> None:
    a, b = ([hostile(text, score) for text in HOSTILE] for score in (0.0, 1.0))
    page = Page(written(tmp_path, a, b, model=HOSTILE[0]) / "compare.html")
    names = {name for name, _ in page.elements}
    assert not names & {"script", "iframe", "object", "base", "form", "link"}
    assert len(page.all("style")) == 1
    for _, attributes in page.elements:
        assert attributes.keys() <= ALLOWED | DRAWN
        assert (attributes.get("href") or "#").startswith("#")
    assert all(text in page.text for text in (HOSTILE[0], HOSTILE[1], HOSTILE[8]))
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page.source)


def test_hostile_variants_stay_text_on_the_page(tmp_path: Path) -> None:
    a, b = ([hostile(text, score, text) for text in HOSTILE] for score in (0.0, 1.0))
    page = Page(written(tmp_path, a, b) / "compare.html")
    assert not {name for name, _ in page.elements} & {"script", "iframe", "img"}
    assert len(page.all("style")) == 1
    assert all(text in page.text for text in (HOSTILE[0], HOSTILE[1], HOSTILE[8]))


def test_the_flips_on_the_page_are_those_of_the_variant_that_its_figures_are_of(tmp_path: Path) -> None:
    a, b = ([record(n, score=score, variant=v) for n in "12" for v in ("clean", "snow/1")] for score in (0.0, 1.0))
    out = written(tmp_path, a, b)
    assert len(Page(out / "compare.html").all("article")) == 2
    assert len(json.loads((out / "compare.json").read_text())["comparisons"][0]["flips"]) == 4


def test_the_policy_allows_the_page_its_own_style_and_nothing_else(tmp_path: Path) -> None:
    page = Page(written(tmp_path, many(1, 0.4, count=30), many(2, 0.6, count=30)) / "compare.html")
    policy = str(page.all("meta")[1]["content"])
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    style = page.source.partition("<style>")[2].partition("</style>")[0]
    assert base64.b64encode(sha256(style.encode()).digest()).decode() in policy
    assert "style" not in {key for _, attributes in page.elements for key in attributes}


def test_flips_stand_side_by_side_with_both_replies(tmp_path: Path) -> None:
    a = [record("won", score=0.0, output="First says no."), record("lost"), record("same"), record("less", score=0.6)]
    b = [record("won", output="Second says yes."), record("lost", score=0.0), record("same"), record("less", score=0.3)]
    page = Page(written(tmp_path, a, b) / "compare.html")
    assert [article["id"] for article in page.all("article")] == ["c1-won-1", "c1-lost-1", "c1-lost-2"]
    assert "First says no." in page.text
    assert "Second says yes." in page.text
    assert "What is on picture same?" not in page.text


def test_images_are_shown_where_their_file_is_still_the_one_that_was_sent(tmp_path: Path) -> None:
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
    page = Page(written_again(tmp_path, b, {"settings": {"images_dir": str(folder)}}) / "compare.html")
    (shown,) = page.all("img")
    assert shown["alt"] == "kept.png"
    assert str(shown["src"]).startswith("data:image/")
    links = [link["href"] for link in page.all("a") if not str(link["href"]).startswith("#")]
    assert links == ["../images%20%26%20more/kept.png"]
    assert all(name in page.text for name in ("kept.png", "changed.png", "gone.png"))


def written_again(tmp_path: Path, b: list[Record], described: dict[str, Any]) -> Path:
    put(tmp_path / "b", b, model="org/two", described=described)
    sides, compared = compare_runs([tmp_path / "a", tmp_path / "b"])
    write_comparison(tmp_path / "out", sides, compared, html_images=10, csv_safe=False)
    return tmp_path / "out"


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


def test_groups_are_one_row_each_after_the_whole(tmp_path: Path) -> None:
    out = written(tmp_path, many(1, 0.4), many(2, 0.6))
    with (out / "compare_groups.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["field"], row["value"]) for row in rows] == [("", ""), ("kind", "number"), ("kind", "other")]
    assert sum(int(row["n"]) for row in rows[1:]) == int(rows[0]["n"]) == 300
    assert float(rows[0]["low"]) < float(rows[0]["difference"]) < float(rows[0]["high"])


def test_the_json_is_strict_and_holds_everything(tmp_path: Path) -> None:
    out = written(tmp_path, many(1, 0.4, partial=True), many(2, 0.6, partial=True))
    content = json.loads((out / "compare.json").read_text(), parse_constant=pytest.fail)
    (of,) = content["comparisons"]
    assert [side["label"] for side in content["sides"]] == ["org/one", "org/two"]
    assert content["sides"][0]["runs"][0]["data_sha256"] == "ab" * 32
    assert {"sentence", "difference", "mcnemar", "paired_t", "bootstrap", "minimum_detectable", "p_holm"} <= of.keys()
    assert "too narrow with few clusters" in of["bootstrap"]["note"]
    assert len(of["flips"]) == of["difference"]["higher"] + of["difference"]["lower"]
    assert of["flips"][0].keys() == {"question_id", "variant", "references", "a", "b"}


def test_questions_matched_by_id_alone_stand_in_one_row(tmp_path: Path) -> None:
    a, b = ([record(f"q{n}", score=score, variant=v) for n in range(3)] for score, v in ((0.0, "clean"), (1.0, "jpeg")))
    out = written(tmp_path, a, [*b[1:], record("q9", variant="jpeg")])
    with (out / "compare.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["question_id"] for row in rows] == ["q0", "q1", "q2", "q9"]
    assert [row["score (org/two)"] for row in rows] == ["", "1.0", "1.0", "1.0"]
    assert len(Page(out / "compare.html").all("article")) == 2


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    made = tag("p", text, title=text)
    assert made.count("<") == 2
    assert made.count('"') == (2 if text else 0)
    assert "&" not in re.sub(r"&(?:amp|lt|gt|quot|#x27);", "", escaped(text))
