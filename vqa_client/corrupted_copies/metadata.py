"""metadata.json: how a corrupted dataset was made, and whether this command goes on with it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.corrupted_copies.making import Order
from vqa_client.errors import UNDECODABLE, DataError, IdentityError
from vqa_client.files import write_json
from vqa_client.images.corruptions import CORRUPTIONS, Variant
from vqa_client.version import __version__

NAME = "metadata.json"
_WAY_OUT = "give another --output, or remove that folder"


class Metadata(msgspec.Struct, kw_only=True):
    """What the file holds; `variants` are by folder.

    `input_dir` is seen from the folder that the file lies in: both may move together.
    """

    perturbation_type: str = "corruptions"
    params: dict[str, Any]
    input_dir: str
    output_dir: str
    variants: dict[str, dict[str, Any]]
    made_with: dict[str, str]


def describe(images: Path, order: Order, variants: Sequence[Variant]) -> Metadata:
    """Say what this command makes."""
    import cv2
    import numpy
    import PIL

    params = {"profile": order.profile, "seed": order.seed, "format": order.format}
    return Metadata(
        params=params | ({"quality": order.quality} if order.format == "jpeg" else {}),
        input_dir=os.path.relpath(os.path.realpath(images), os.path.realpath(order.output)),
        output_dir=".",
        variants={variant.folder: _described(order, variant) for variant in variants},
        made_with={
            "vqa-client": __version__,
            "numpy": numpy.__version__,
            "opencv": cv2.__version__,
            "pillow": PIL.__version__,
        },
    )


def _described(order: Order, variant: Variant) -> dict[str, Any]:
    constants = CORRUPTIONS[variant.name].ways[order.profile].levels[variant.level - 1]
    return {"corruption": variant.name, "level": variant.level, "constants": constants}


def joined(now: Metadata, output: Path) -> tuple[Metadata, str]:
    """Give what `metadata.json` must say after this command, and a note on what has changed since the last one.

    Raises IdentityError where `output` holds a dataset of other images or parameters, DataError where it holds folders
    of these names and nothing says what they are.
    """
    path = output / NAME
    before = _read(path)
    if before is None:
        taken = [folder for folder in now.variants if (output / folder).exists()]
        if taken:
            raise DataError(f"{output / taken[0]} exists, and no {NAME} beside it says how it was made", hint=_WAY_OUT)
        return now, ""
    differing = [
        f"{name} was {then!r} and is {is_now!r}"
        for name, then, is_now in (
            *((name, before.params.get(name), now.params.get(name)) for name in {**now.params, **before.params}),
            ("input_dir", *(os.path.realpath(output / told.input_dir) for told in (before, now))),
        )
        if then != is_now
    ]
    if differing:
        raise IdentityError(f"{path} describes another dataset: {'; '.join(differing)}", hint=_WAY_OUT)
    note = f"earlier files were made with {before.made_with}" if before.made_with != now.made_with else ""
    now.variants = before.variants | now.variants
    return now, note


def _read(path: Path) -> Metadata | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Metadata)
    except FileNotFoundError:
        return None
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"{path}: {error}", hint=_WAY_OUT) from None


def write(metadata: Metadata, output: Path) -> None:
    """Put the file beside the folders."""
    write_json(output / NAME, metadata)
