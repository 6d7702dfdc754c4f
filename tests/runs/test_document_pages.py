"""Pages of PDF documents, and which of them a question is sent with."""

import json
import re
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from vqa_client.cli.main import run_command
from vqa_client.images.find import pages_of
from vqa_client.reports.log_reader import LogReader
from vqa_client.tables import pdf_pages
from vqa_client.tables.inside import open_image

pytest.importorskip("pypdfium2")
PAGES = {
    "garden.pdf": ["The apple tree is old.", "The gate has the number 7714.", "Roses grow by the wall."],
    "harbour.pdf": ["The ferry leaves at noon.", "Tickets cost 12 crowns."],
}
ROWS: list[dict[str, Any]] = [
    {"doc_id": "garden.pdf", "question": "[[q0]] Which number has the gate?", "answer": "7714", "evidence": "[2]"},
    {"doc_id": "harbour.pdf", "question": "[[q1]] What do tickets cost?", "answer": "12", "evidence": "[2, 9]"},
    {"doc_id": "harbour.pdf", "question": "[[q2]] Who built it?", "answer": "Not answerable", "evidence": "[]"},
]
REPLIES = {"[[q0]]": "7714", "[[q1]]": "12", "[[q2]]": "Not answerable"}


def pdf(texts: list[str], side: int = 200, *, encrypted: bool = False) -> bytes:
    """A document with a line of text on each page; with `encrypted` it can't be opened without a password."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in texts:
        stream = b"BT /F1 12 Tf 10 100 Td (%s) Tj ET" % text.encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R /Resources "
            b"<< /Font << /F1 3 0 R >> >> >>" % (side, side, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    key = b"/ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> " % (b"41" * 32, b"42" * 32)
    tail = b"trailer << /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        key if encrypted else b"",
        len(out),
    )
    return out + head + table + tail


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "documents").mkdir(parents=True)
    for name, texts in PAGES.items():
        (folder / "documents" / name).write_bytes(pdf(texts))
    rows = [
        {
            "doc_id": row["doc_id"],
            "doc_type": "Guidebook",
            "question": row["question"],
            "answer": row["answer"],
            "evidence_pages": row["evidence"],
            "evidence_sources": "['Table']",
            "answer_format": "None" if row["answer"] == "Not answerable" else "Int",
        }
        for row in ROWS
    ]
    (folder / "samples.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder


def asked(data: Path, base_url: str, *options: str) -> int:
    where = ["--data", str(data), "-o", str(data.parent / "out"), "--base_url", base_url, "--no_check"]
    return run_command(["run", "mmlongbench-doc", *where, *options])


def images(server: Any) -> dict[str, int]:
    """The number of images of each sent question."""
    return {mark: len(chat.images) for chat in server.chats for mark in REPLIES if mark in chat.prompt}


def test_a_page_is_drawn_at_its_resolution_with_the_same_bytes_each_time(data: Path) -> None:
    path = str(data / "documents/garden.pdf")
    assert pages_of(path) == tuple(f"{path}#{page}@144" for page in (1, 2, 3))
    with open_image(f"{path}#2@144") as first, open_image(f"{path}#2@144") as again:
        assert first.read() == again.read()
    with open_image(f"{path}#2@72") as small:
        assert Image.open(BytesIO(small.read())).size == (200, 200)
    assert pdf_pages.page_texts(path) == PAGES["garden.pdf"]


def test_a_page_of_a_document_in_a_cell_is_that_of_the_file(tmp_path: Path, data: Path) -> None:
    document = (data / "documents/garden.pdf").read_bytes()
    (tmp_path / "rows.tsv").write_text(f"index\timage\n1\t{b64encode(document).decode()}\n")
    with (
        open_image(f"{tmp_path}/rows.tsv#0:image#2@72") as found,
        open_image(f"{data}/documents/garden.pdf#2@72") as page,
    ):
        assert found.read() == page.read()
    with pytest.raises(ValueError, match=r"^there is no page 4: the document has 3$"):
        open_image(f"{tmp_path}/rows.tsv#0:image#4@72")


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (pdf(["one"]), "2@144", "there is no page 2: the document has 1"),
        (
            pdf(["one"], side=14_000),
            "1@144",
            "page 1 would have 28,000 x 28,000 pixels at 144 dpi; the limit is 80,000,000",
        ),
        (pdf(["one"]), "1", "'1' is not a page, such as 3@144"),
        (pdf(["one"], encrypted=True), "1@144", "the document is encrypted: save it without its password"),
        (pdf([]), "1@144", "PDFium can't open the document: it is damaged, or has no pages"),
        (b"%PDF-1.4 and nothing else", "1@144", "PDFium can't open the document: it is damaged, or has no pages"),
    ],
)
def test_a_page_that_can_not_be_drawn_is_a_bad_image_with_its_reason(
    tmp_path: Path, content: bytes, place: str, words: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        open_image(f"{path}#{place}")


def test_questions_come_with_the_pages_of_their_pdf_which_are_kept_beside_the_report(
    data: Path, fault_server: StartsServers
) -> None:
    server = fault_server(oracle(REPLIES))
    assert asked(data, server.base_url) == 0
    assert images(server) == {"[[q0]]": 3, "[[q1]]": 2, "[[q2]]": 2}
    drawn = sorted((data.parent / "out/drawn_pages").rglob("*.png"))
    assert len(drawn) == 5
    before = drawn[0].read_bytes()
    assert asked(data, server.base_url, "--fresh") == 0
    assert drawn[0].read_bytes() == before
    assert asked(data, server.base_url, "--dpi", "72") == 2, "another resolution is another run"


def in_cells(data: Path) -> Path:
    """The data in VLMEvalKit's form: each row has its whole document, and names of pages that it would write."""
    rows = json.loads((data / "samples.json").read_text(encoding="utf-8"))
    lines = ["\t".join(("index", *rows[0], "image", "image_path"))]
    for number, row in enumerate(rows):
        document = b64encode((data / "documents" / row["doc_id"]).read_bytes()).decode()
        names = [f"{row['doc_id']}_{page}.jpg" for page in range(len(PAGES[row["doc_id"]]))]
        lines.append("\t".join((str(number), *row.values(), document, str(names))))
    path = data.parent / "MMLongBench_DOC.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("in_threads")
def test_documents_in_the_cells_of_a_table_are_drawn_as_files_are(data: Path, fault_server: StartsServers) -> None:
    pytest.importorskip("bm25s")
    server = fault_server(oracle(REPLIES))
    table = in_cells(data)
    assert asked(table, server.base_url) == 0
    assert images(server) == {"[[q0]]": 3, "[[q1]]": 2, "[[q2]]": 2}
    drawn = data.parent / "out/drawn_pages"
    assert sorted(path.name for path in drawn.rglob("*.pdf")) == ["document.pdf"] * 2
    before = {path.relative_to(drawn): path.read_bytes() for path in drawn.rglob("*.png")}
    assert asked(data, server.base_url, "--fresh") == 0
    assert before == {path.relative_to(drawn): path.read_bytes() for path in drawn.rglob("*.png")}
    assert asked(table, server.base_url, "--pages", "retrieved:1", "--dpi", "72", "--fresh") == 0
    log = next((data.parent / "out").glob("*retrieved*.records.jsonl"))
    shown = {record.question_id: record.images for record in LogReader(log)}
    assert [image.name.rpartition(":")[2] for image in shown["garden.pdf#0"]] == ["image#2@72"]


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(
    ("form", "expected"),
    [("evidence", {"[[q0]]": 1, "[[q1]]": 1, "[[q2]]": 0}), ("retrieved:1", {"[[q0]]": 1, "[[q1]]": 1, "[[q2]]": 1})],
)
def test_one_form_of_pages_is_a_run_of_its_own(
    data: Path, fault_server: StartsServers, form: str, expected: dict[str, int]
) -> None:
    pytest.importorskip("bm25s")
    server = fault_server(oracle(REPLIES))
    assert asked(data, server.base_url, "--pages", form) == 0
    assert images(server) == expected
    log = next((data.parent / "out").glob("*.records.jsonl"))
    shown = {record.question_id: record.images for record in LogReader(log)}
    assert [image.name.rpartition("#")[2] for image in shown["garden.pdf#0"]] == ["2@144"]


@pytest.mark.usefixtures("in_threads")
def test_several_forms_show_whether_reading_or_finding_fails(
    data: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("bm25s")
    server = fault_server(oracle(REPLIES))
    assert asked(data, server.base_url, "--pages", "evidence,all,retrieved:2") == 0
    assert len(server.chats) == 9
    out = capsys.readouterr().out
    assert "all - evidence: 0.0 (-96.7 to +96.7) points, p = 1" in out
    report = json.loads((data.parent / "out/mmlongbench-doc_pages.json").read_text())
    assert {form: of["accuracy"] for form, of in report["by_pages"].items()} == {
        "all": 100.0,
        "evidence": 100.0,
        "retrieved:2": 100.0,
    }
    assert run_command(["rescore", str(data.parent / "out")]) == 0


@pytest.mark.parametrize("form", ["some", "retrieved:", "retrieved:0", "evidence,most"])
def test_unknown_forms_of_pages_are_named(data: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert asked(data, "http://127.0.0.1:1", "--pages", form) == 2
    assert "is unknown" in capsys.readouterr().err


def test_data_without_evidence_has_no_pages_of_evidence(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = data / "samples.json"
    rows.write_text(rows.read_text(encoding="utf-8").replace("[2]", "[]").replace("[2, 9]", "[]"), encoding="utf-8")
    assert asked(data, "http://127.0.0.1:1", "--pages", "evidence") == 2
    said = "--pages evidence: this data names no evidence pages\nhint: --pages all or retrieved:K\n"
    assert said in capsys.readouterr().err
