"""What the page reader reads on rendered pages, beside the text that they show."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tesserocr", reason="needs the extra `reader`")

from tests.pages.typefaces import render
from vqa_client.pages.documents import shown
from vqa_client.pages.layout import Style
from vqa_client.pages.legibility import legibility
from vqa_client.shipped import shipped

DATA = shipped("data") / "longbench" / "data.json"


@pytest.mark.parametrize(("dpi", "least"), [(100, 0.97), (150, 0.99)])
def test_the_page_reader_finds_nearly_every_word(dpi: int, least: float, tmp_path: Path) -> None:
    records = [record | {"context": record["context"][:2_000]} for record in json.loads(DATA.read_bytes())[:2]]
    render(tmp_path, {record["_id"]: record["context"] for record in records}, Style(dpi=dpi))
    data = tmp_path / "data.json"
    data.write_text(json.dumps(records))
    found = legibility(shown(data, tmp_path / "images"), workers=1, advance=lambda _: None)
    assert found.documents == 2
    assert found.worst.share >= least
