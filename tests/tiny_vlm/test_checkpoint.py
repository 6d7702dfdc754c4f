"""The checkpoint that is shipped: small, whole, and in the layout that three servers read."""

import json
import struct
from math import prod

import pytest
from tiny_vlm import checkpoint
from tiny_vlm.tokens import PLAIN, SPECIAL, VOCABULARY

from vqa_client.shipped import shipped

FOLDER = shipped("serve") / "tiny_vlm" / "tiny-vlm"
LARGEST_BYTES = 12_000_000


def test_its_weights_are_whole_and_small() -> None:
    raw = (FOLDER / "model.safetensors").read_bytes()
    assert len(raw) <= LARGEST_BYTES
    (length,) = struct.unpack("<Q", raw[:8])
    tensors = {name: each for name, each in json.loads(raw[8 : 8 + length]).items() if name != "__metadata__"}
    assert {each["dtype"] for each in tensors.values()} == {"BF16"}
    assert sum(2 * prod(each["shape"]) for each in tensors.values()) == len(raw) - 8 - length
    assert tensors["lm_head.weight"]["shape"] == [VOCABULARY, checkpoint.WIDTH]
    assert tensors["visual.patch_embed.proj.weight"]["shape"] == [checkpoint.WIDTH, 3, 2, 8, 8]
    layers = {name.split(".")[2] for name in tensors if name.startswith("model.layers.")}
    assert len(layers) == checkpoint.LAYERS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", checkpoint.CONFIG),
        ("preprocessor_config.json", checkpoint.PREPROCESSOR),
        ("tokenizer_config.json", checkpoint.TOKENIZER),
        ("generation_config.json", checkpoint.GENERATION),
        ("chat_template.json", {"chat_template": checkpoint.CHAT_TEMPLATE}),
    ],
)
def test_its_files_are_those_that_the_code_writes(name: str, content: dict[str, object]) -> None:
    assert json.loads((FOLDER / name).read_text()) == content


def test_its_tokenizer_has_the_special_tokens_where_the_config_says() -> None:
    tokenizer = json.loads((FOLDER / "tokenizer.json").read_text())
    added = {each["content"]: each for each in tokenizer["added_tokens"]}
    assert [added[token]["id"] for token in SPECIAL] == list(range(len(SPECIAL)))
    assert not any(added[token]["special"] for token in PLAIN)
    assert max(each["id"] for each in tokenizer["added_tokens"]) < VOCABULARY
    assert added["<|image_pad|>"]["id"] == checkpoint.CONFIG["image_token_id"]
