"""Writes mmlongbench/samples.json: the secrets of niah/data.json as questions about documents, with the page of each.

python data/evidence.py                          # needs the extra `reader`: a page is where its secret can be read
"""

import json
from collections.abc import Iterator
from pathlib import Path

from vqa_client.pages.legibility import text_of

HERE = Path(__file__).parent
KINDS = {"number": "Int"}


def rows() -> Iterator[dict[str, object]]:
    """A row for each secret, in the form of MMLongBench-Doc with the names of its pages."""
    for record in json.loads((HERE / "niah/data.json").read_text(encoding="utf-8")):
        pages = sorted((HERE / "niah/clean/images").glob(f"{record['_id']}_page_*.png"))
        texts = [" ".join(text_of(str(page)).split()) for page in pages]
        for (key, value), question in zip(record["secrets"].items(), record["questions"], strict=True):
            found = [number for number, text in enumerate(texts, 1) if f"The secret {key} is {value}" in text]
            yield {
                "doc_id": f"{record['_id']}.pdf",
                "doc_type": "Letter",
                "question": question,
                "answer": value,
                "evidence_pages": str(found),
                "evidence_sources": "['Pure-text (Plain-text)']",
                "answer_format": KINDS.get(key, "Str"),
                "pages": [page.name for page in pages],
            }


if __name__ == "__main__":
    (HERE / "mmlongbench/samples.json").write_text(json.dumps(list(rows()), indent=1) + "\n", encoding="utf-8")
