"""Every form of data gives the same rows and images; the content decides the form, not the name."""

import base64
import csv
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec import Struct
from pyarrow import parquet

from tests.contract.forms import draw
from vqa_client.benchmark import Beside, Columns, Form, Join, LeftOut, Picture, Place, Question, tables
from vqa_client.errors import DataError
from vqa_client.images.prepare import ImagePreparer
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.tables.inside import open_image
from vqa_client.task import Loaded, Source

B64 = [base64.b64encode(draw(shade)).decode() for shade in range(4)]
PICTURES: list[list[bytes]] = [[draw(0)], [draw(1), draw(2)], [], [draw(3)]]
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "One?", "answer": "1"},
    {"id": "b", "text": 'Two, "quoted"\nlines?', "answer": "two"},
    {"id": "c", "text": "None?", "answer": "0.10"},
    {"id": "d", "text": "Ünïcode?", "answer": "x"},
]


class Row(Struct):
    id: str
    text: str
    answer: str
    image: tuple[Picture, ...] = ()


def question(row: Row, place: Place) -> Question:
    return Question(id=row.id, text=row.text, images=row.image, references=(row.answer,))


def load(data: Path, *forms: Form, row: type[Struct] = Row, made: Any = question, **settings: Any) -> Loaded:
    (part,) = tables(row, *(forms or (Form("*"),)), question=made)(
        Source(settings=BenchmarkSettings(data=data, **settings))
    )
    return part.loaded


def content(name: str) -> bytes:
    with open_image(name) as file:
        return file.read()


def as_json(path: Path, files: bool) -> None:
    rows = []
    for number, (row, pictures) in enumerate(zip(ROWS, PICTURES, strict=True)):
        cell: Any = [f"data:image/png;base64,{base64.b64encode(each).decode()}" for each in pictures]
        if files:
            cell = [f"{number}_{at}.png" for at in range(len(pictures))]
            for name, each in zip(cell, pictures, strict=True):
                (path.parent / name).write_bytes(each)
        rows.append({**row, "image": cell[0] if len(cell) == 1 else cell or None})
    path.write_text(json.dumps(rows))


def as_lines(path: Path) -> None:
    as_json(path, files=False)
    path.write_text("\ufeff" + "".join(json.dumps(row) + "\n\n" for row in json.loads(path.read_text())))


def as_keyed(path: Path) -> None:
    as_json(path, files=False)
    path.write_text(json.dumps({row["id"]: row for row in json.loads(path.read_text())}, indent=1))


def as_delimited(path: Path, delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.writer(file, delimiter=delimiter)
        table.writerow(["id", "text", "answer", "image"])
        for row, pictures in zip(ROWS, PICTURES, strict=True):
            encoded = [base64.b64encode(each).decode() for each in pictures]
            table.writerow([*row.values(), encoded[0] if len(encoded) == 1 else repr(encoded) if encoded else ""])


def as_parquet(path: Path) -> None:
    pictures = [[{"bytes": each, "path": None} for each in images] or None for images in PICTURES]
    table = pa.Table.from_pylist([{**row, "image": each} for row, each in zip(ROWS, pictures, strict=True)])
    parquet.write_table(table, path, row_group_size=3)


def as_tar(path: Path, style: int = tarfile.PAX_FORMAT) -> None:
    with tarfile.open(path, "w", format=style) as tar:
        for row, pictures in zip(ROWS, PICTURES, strict=True):
            key = f"{'long' * 40}/{row['id']}"
            members = {f"{key}.json": json.dumps(row).encode()}
            members |= {f"{key}.{at}.png": each for at, each in enumerate(pictures)}
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


JSON_COLUMNS: dict[str, str | Columns | Beside] = {name: f"json.{name}" for name in ("id", "text", "answer")}
FORMS: dict[str, tuple[Callable[[Path], None], Form]] = {
    "paths": (lambda path: as_json(path, files=True), Form("data")),
    "data_urls": (lambda path: as_json(path, files=False), Form("data")),
    "lines": (as_lines, Form("data")),
    "keyed": (as_keyed, Form("data")),
    "csv": (lambda path: as_delimited(path, ","), Form("data")),
    "semicolons": (lambda path: as_delimited(path, ";"), Form("data")),
    "tsv": (lambda path: as_delimited(path, "\t"), Form("data")),
    "parquet": (as_parquet, Form("data")),
    "tar_pax": (as_tar, Form("data", columns=JSON_COLUMNS)),
    "tar_gnu": (lambda path: as_tar(path, tarfile.GNU_FORMAT), Form("data", columns=JSON_COLUMNS)),
}


@pytest.mark.parametrize("form", FORMS)
async def test_each_form_gives_the_same_four_questions_and_sends_the_same_bytes(form: str, tmp_path: Path) -> None:
    write, declared = FORMS[form]
    write(tmp_path / "data")
    found = list(load(tmp_path, declared).questions)
    assert [(each.id, each.text, each.references) for each in found] == [
        (row["id"], row["text"], (row["answer"],)) for row in ROWS
    ]
    preparer = ImagePreparer()
    for question, pictures in zip(found, PICTURES, strict=True):
        assert [content(name) for name in question.images] == pictures
        sent = await preparer.prepare(question.images)
        assert [image.data or Path(image.path).read_bytes() for image in sent] == pictures
        assert [image.transforms for image in sent] == [()] * len(pictures)
    preparer.close()


OF_SPLITS = Form(("data/{split}-*.parquet", "*/{split}_{split}.json"), splits={"val": "validation"})
KEPT = Form("Set.json")


class OfSplit(Row):
    split: str = ""


@pytest.mark.parametrize(
    ("files", "forms", "row", "split", "words"),
    [
        (["Set.json"], [KEPT], Row, "test", "has no splits, and --split is 'test' (leave out --split)"),
        (["Set.json"], [OF_SPLITS, KEPT], Row, "val", "has no split 'val', but test (--split names one)"),
        (["Set.json"], [OF_SPLITS, KEPT], Row, "test", ""),
        (["Set.json"], [KEPT], OfSplit, "dev", "has no split 'dev', but test (--split names one)"),
        (["a/test_test.json", "a/dev_dev.json", "a/no_dev.json"], [OF_SPLITS], Row, "x", "'x', but dev, test (--split"),
        (["validation-0.parquet", "other.json"], [OF_SPLITS], Row, "x", "has no split 'x', but val (--split"),
        (["other.json"], [OF_SPLITS], Row, "x", "has no data of this benchmark (known forms are"),
    ],
)
def test_a_missing_split_is_refused_with_the_existing_ones(
    files: list[str], forms: list[Form], row: type[Struct], split: str, words: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('[{"id": "a", "text": "?", "answer": "1", "split": "test"}]')

    def made(row: Any, place: Place) -> Question | tuple[()]:
        return question(row, place) if getattr(row, "split", place.split) == place.split else ()

    if not words:
        assert len(list(load(tmp_path, *forms, row=row, made=made, split=split).questions)) == 1
        return
    with pytest.raises(DataError) as caught:
        load(tmp_path, *forms, row=row, made=made, split=split)
    assert words in f"{caught.value} ({caught.value.hint})"


def test_a_tsv_whose_images_vlmevalkit_has_written_out_is_read_by_its_other_name(tmp_path: Path) -> None:
    (tmp_path / "images/Set").mkdir(parents=True)
    for name in ("0.jpg", "1_0.jpg", "1_1.jpg"):
        (tmp_path / "images/Set" / name).write_bytes(draw(0))
    folder = tmp_path / "images/Set"
    lines = [f"0\t{folder}/0.jpg\tOne?\tx", "1\t['images/Set/1_0.jpg', 'images/Set/1_1.jpg']\tTwo?\ty"]
    (tmp_path / "Set_local.tsv").write_text("\n".join(["index\timage_path\ttext\tanswer", *lines]) + "\n")
    form = Form("Set.tsv", columns={"id": "index"})
    for data in (tmp_path, tmp_path / "Set_local.tsv"):
        assert [question.images for question in load(data, form).questions] == [
            (f"{folder}/0.jpg",),
            (f"{folder}/1_0.jpg", f"{folder}/1_1.jpg"),
        ]


def test_columns_join_splits_and_lists_make_the_fields(tmp_path: Path) -> None:
    class Wide(Struct):
        id: str
        text: str
        images: tuple[Picture, ...]
        references: tuple[str, ...]
        pages: tuple[int, ...] = (9,)
        level: str = "none"
        folder: str = ""
        cluster: str = ""

    (tmp_path / "en").mkdir()
    table = pa.Table.from_pylist(
        [
            {
                "id": 1,
                "text": "a?",
                "photo": "p",
                "references": "['1', \"2\"]",
                "pages": "[3, 4]",
                "level": None,
                "folder": "x",
            },
            {"id": 2, "text": "b?", "photo": "q", "references": "[not a list", "pages": None, "level": "hard"},
        ]
    )
    parquet.write_table(table, tmp_path / "en/validation-0.parquet")
    pictures = [
        {
            "name": name,
            "one": {"bytes": draw(shade), "path": "x"},
            "two": {"bytes": draw(9), "path": ""} if shade else None,
            "cluster": "c" if shade else None,
        }
        for shade, name in enumerate("pq")
    ]
    parquet.write_table(pa.Table.from_pylist(pictures), tmp_path / "en/photos.parquet")
    form = Form(
        "*/{split}-*.parquet",
        splits={"val": "validation"},
        columns={"images": Columns("one", "two")},
        join=Join("en/photos.parquet", on="photo", key="name"),
    )
    first, second = load(tmp_path, form, row=Wide, made=None, split="val").questions
    assert (first.id, first.references, second.references) == ("1", ("1", "2"), ("[not a list",))
    assert [[content(name) for name in each.images] for each in (first, second)] == [[draw(0)], [draw(1), draw(9)]]
    assert first.images == (f"{tmp_path}/en/photos.parquet#0:one",)
    assert (first.cluster, first.groups) == (first.images[0], {"level": "none", "folder": "x"})
    assert (first.folder, second.groups, second.cluster) == ("", {"level": "hard"}, "c")


def test_each_item_of_a_list_makes_a_path(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a_1.png").write_bytes(draw(1))
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "text": "?", "answer": 2, "ids": ["1", "2"], "doc": "a"}\n')
    form = Form("rows.jsonl", columns={"image": Beside("pages/{doc}_{ids}.png")})
    (found,) = load(tmp_path, form).questions
    assert found.images == (f"{tmp_path}/pages/a_1.png", f"{tmp_path}/pages/a_2.png")


def test_a_form_may_have_its_own_row_and_question(tmp_path: Path) -> None:
    class Diagram(Struct):
        questions: dict[str, str]

    def asked(row: Diagram, place: Place) -> list[Question | LeftOut]:
        return [
            LeftOut("empty", name) if not text else Question(id=name, text=text) for name, text in row.questions.items()
        ]

    (tmp_path / "7.json").write_text('[{"questions": {"a": "x?", "b": ""}}]')
    found = load(tmp_path, Form("*.json", row=Diagram, question=asked))
    assert ([each.id for each in found.questions], found.left_out) == (["a"], {"empty": ("b",)})


def test_parquet_with_only_paths_names_files(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(draw(1))
    rows = [{**ROWS[0], "image": {"bytes": None, "path": "1.png"}}, {**ROWS[1], "image": None}]
    schema = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    fields = [(name, pa.string()) for name in ROWS[0]]
    parquet.write_table(pa.Table.from_pylist(rows, pa.schema([*fields, ("image", schema)])), tmp_path / "x.parquet")
    assert [each.images for each in load(tmp_path, Form("*.parquet")).questions] == [(f"{tmp_path}/1.png",), ()]


def tar_with(name: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    return file.getvalue()


ROW = '"id": 1, "text": "t", "answer": "a"'
OUTSIDE = "is outside {here}; --images names the folder that all images are below"
FAULTS: dict[str, list[tuple[str | bytes, str]]] = {
    "its columns are id, text, answer, image": [
        (f'{{{ROW}, "image": "../../secret.png"}}', f"{{path}}: row 1: `image`: ../../secret.png {OUTSIDE}"),
        (f'{{{ROW}, "image": "/etc/passwd"}}', f"{{path}}: row 1: `image`: /etc/passwd {OUTSIDE}"),
        (
            f'{{{ROW}, "image": "https://a.example/1.png"}}',
            "{path}: row 1: `image`: https://a.example/1.png is an address; --images takes the one that all begin "
            "with, and `ask` has --image_urls",
        ),
        (f'{{{ROW}, "image": "data:image/png,abc"}}', "{path}: row 1: `image`: only data: URLs of base64 are read"),
        (
            f'{{{ROW}, "image": "{B64[0][:70]}!{B64[0][71:]}"}}',
            "{path}: row 1: `image`: broken base64: it has the character '!'",
        ),
        (
            f'{{{ROW}, "image": "{B64[0][:81]}"}}',
            "{path}: row 1: `image`: broken base64: it is cut after 81 characters",
        ),
        (f'{{{ROW}, "image": 5}}', "{path}: row 1: `image`: expected an image's path or bytes, got int"),
    ],
    "its columns are id, text": [('{"id": 1, "text": "t"}', "{path}: row 1: field `answer` is missing")],
    "a data file is a JSON list of rows, one JSON object per line, comma- or tab-separated text with a header, all in "
    "UTF-8, or Parquet, or a tar of the webdataset form": [
        ('{"id": 1, "text": "t", "answer": ', "{path}: row 1: the JSON breaks off"),
        (b" \n", "{path} is empty"),
        (b"", "{path} is empty"),
    ],
    "an id names one question of the data": [(f"{{{ROW}}}\n{{{ROW}}}\n", "two rows have the id '1'")],
    "--images names the folder that the images are in": [
        (f'{{{ROW}, "image": "none.png"}}', "no image was found: {here}/none.png")
    ],
    "put a cell that contains the delimiter or a line break in quotes": [
        ("id,text,answer\n1,a,b\n2,c\n", "{path}, line 3: row 2: 2 fields, the header has 3; nothing for `answer`"),
        ("id,text,answer\n1,a,b,c\n", "{path}, line 2: row 1: 4 fields, the header has 3"),
    ],
    "rename one of them": [("id,text,text\n1,a,b\n", "{path}: two columns are called 'text'")],
    'a quote between quotes is written ""': [('id,text,answer\n1,"a,b\n', "{path}, line 2: a quote is never closed")],
    "is it the right file? text must be UTF-8, not UTF-16": [
        ("id,text,answer\n1,a\0,b\n", "{path}, line 2: a null byte")
    ],
    r"save it with line ends \n or \r\n": [
        ("id,text,answer\r1,a,b\r", r"{path}, line 1: a carriage return (\r) by itself")
    ],
    "save the file as UTF-8": [(b"id,text,answer\n1,\xff,b\n", "{path}, line 2: byte 0xff is not UTF-8")],
    "fetch the file again; it may be cut": [(b"PAR1 and nothing more", "can't read {path}: ")],
    "pack the files themselves": [
        (tar_with("a.png", tarfile.SYMTYPE), "{path}: a.png is a link"),
        (tar_with("a.png", tarfile.LNKTYPE), "{path}: a.png is a hard link"),
        (tar_with("a.png", tarfile.CHRTYPE), "{path}: a.png is a device"),
        (tar_with("a.png", tarfile.BLKTYPE), "{path}: a.png is a device"),
        (tar_with("a.png", tarfile.FIFOTYPE), "{path}: a.png is a pipe"),
    ],
    "pack the files with paths of their own": [
        (tar_with("../a.png"), "{path}: ../a.png is outside the tar"),
        (tar_with("/a.png"), "{path}: /a.png is outside the tar"),
    ],
    "fetch the file again": [
        (tar_with("a.png")[:124] + b"not octal..." + tar_with("a.png")[136:], "{path}: broken header at byte 0")
    ],
}


@pytest.mark.parametrize(
    ("data", "said", "hint"), [(*fault, hint) for hint, faults in FAULTS.items() for fault in faults]
)
def test_a_fault_is_named_before_anything_is_asked(data: str | bytes, said: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(DataError) as caught:
        load(path)
    said = said.replace("{path}", str(path)).replace("{here}", str(tmp_path))
    assert str(caught.value) == said or (said.endswith(": ") and str(caught.value).startswith(said))
    assert caught.value.hint == hint


def test_data_that_is_not_there_is_named_with_its_forms(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"^{tmp_path}/no does not exist$") as caught:
        load(tmp_path / "no", Form(("a.json", "b.json")), Form("c-{split}.csv"))
    known = "a.json or b.json; c-test.csv"
    assert caught.value.hint == f"--data takes a folder with {known}, or one such file"


def test_a_missing_column_is_named_with_the_existing_ones(tmp_path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist([{"id": "1", "text": "t", "label": "x"}]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="row 1: field `answer` is missing") as caught:
        load(tmp_path)
    assert caught.value.hint == "its columns are id, text, label"
