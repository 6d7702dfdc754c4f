"""The checkpoint: Qwen2-VL's architecture at two million parameters, in files that transformers, vLLM and mlx-vlm read.

Its config is the flat one that Qwen2-VL was published with, which all three take; weights have the names of that time.
"""

import copy
import json
from pathlib import Path
from typing import Any

from tiny_vlm.tokens import END, IMAGE, PAD, SPECIAL, VIDEO, VISION_END, VISION_START, VOCABULARY

WIDTH, LAYERS, HEADS = 128, 4, 4
PATCH_PX, MERGE, FRAMES = 8, 2, 2
SMALLEST_PIXELS, LARGEST_PIXELS = 32 * 32, 512 * 512

CONFIG: dict[str, Any] = {
    "architectures": ["Qwen2VLForConditionalGeneration"],
    "model_type": "qwen2_vl",
    "torch_dtype": "bfloat16",
    "hidden_size": WIDTH,
    "intermediate_size": 3 * WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 4096,
    "max_window_layers": LAYERS,
    "use_sliding_window": False,
    "sliding_window": 32768,
    "rope_theta": 10000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]},
    "attention_dropout": 0.0,
    "tie_word_embeddings": False,
    "vocab_size": VOCABULARY,
    "bos_token_id": None,
    "eos_token_id": END,
    "pad_token_id": PAD,
    "vision_start_token_id": VISION_START,
    "vision_end_token_id": VISION_END,
    "vision_token_id": IMAGE,
    "image_token_id": IMAGE,
    "video_token_id": VIDEO,
    "vision_config": {
        "model_type": "qwen2_vl",
        "depth": 3,
        "embed_dim": WIDTH,
        "hidden_size": WIDTH,
        "num_heads": HEADS,
        "mlp_ratio": 3,
        "hidden_act": "quick_gelu",
        "in_channels": 3,
        "in_chans": 3,
        "patch_size": PATCH_PX,
        "spatial_patch_size": PATCH_PX,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": FRAMES,
    },
}
PREPROCESSOR: dict[str, Any] = {
    "image_processor_type": "Qwen2VLImageProcessor",
    "processor_class": "Qwen2VLProcessor",
    "do_convert_rgb": True,
    "do_resize": True,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "resample": 3,
    "patch_size": PATCH_PX,
    "temporal_patch_size": FRAMES,
    "merge_size": MERGE,
    "min_pixels": SMALLEST_PIXELS,
    "max_pixels": LARGEST_PIXELS,
    "size": {"shortest_edge": SMALLEST_PIXELS, "longest_edge": LARGEST_PIXELS},
}
TOKENIZER: dict[str, Any] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": SPECIAL[END],
    "pad_token": SPECIAL[PAD],
    "bos_token": None,
    "unk_token": None,
    "model_max_length": 4096,
    "padding_side": "left",
    "clean_up_tokenization_spaces": False,
    "additional_special_tokens": list(SPECIAL[1:]),
}
GENERATION: dict[str, Any] = {"eos_token_id": END, "pad_token_id": PAD, "do_sample": False}
CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\\n' -}}
{%- if message['content'] is string -%}
{{- message['content'] -}}
{%- else -%}
{%- for part in message['content'] if part['type'] in ('image', 'image_url') -%}
{{- '<|vision_start|><|image_pad|><|vision_end|>' -}}
{%- endfor -%}
{%- for part in message['content'] if part['type'] == 'text' -%}
{{- part['text'] -}}
{%- endfor -%}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- if enable_thinking is defined and enable_thinking -%}
{{- '<think>\\n' -}}
{%- endif -%}
{%- endif -%}
"""
"""Images come before the text in any order of the request, so that all three servers see the same prompt."""


def new_model() -> Any:
    """A model with random weights; at this width the library's deviation of 0.02 would leave attention uniform."""
    import torch
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    given = copy.deepcopy(CONFIG)  # the library changes its argument
    del given["torch_dtype"]
    model = Qwen2VLForConditionalGeneration(Qwen2VLConfig(**given))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "visual" in name or weight.dim() < 2:
                continue
            if "embed_tokens" in name:
                weight.normal_(0.0, 0.5)
                continue
            into_stream = name.endswith(("o_proj.weight", "down_proj.weight"))
            spread = weight.shape[1] ** -0.5 / ((2 * LAYERS) ** 0.5 if into_stream else 1.0)
            weight.normal_(0.0, spread)
    return model


def load(folder: Path) -> Any:
    """Load a checkpoint's model with transformers, in float32."""
    from transformers import Qwen2VLForConditionalGeneration

    return Qwen2VLForConditionalGeneration.from_pretrained(folder, dtype="float32")


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write all files of a checkpoint, weights as bfloat16."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        _published(name): weight.detach().to(torch.bfloat16).contiguous() for name, weight in model.state_dict().items()
    }
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    for name, content in {
        "config": CONFIG,
        "preprocessor_config": PREPROCESSOR,
        "tokenizer_config": TOKENIZER,
        "generation_config": GENERATION,
        "chat_template": {"chat_template": CHAT_TEMPLATE},
    }.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def _published(name: str) -> str:
    """The name of a weight when Qwen2-VL was released."""
    return name.removeprefix("model.") if ".visual." in name else name.replace("model.language_model.", "model.")


def patches(picture: Any) -> tuple[Any, tuple[int, int, int]]:
    """Do what the image processor does with an image whose sides are multiples of 16: return patches and their grid.

    Patches are (N, 3 * FRAMES * PATCH_PX ** 2) float32 in [-1, 1]; patches that are merged later are neighbours.
    """
    import numpy
    import torch

    pixels = torch.from_numpy(numpy.asarray(picture.convert("RGB"), dtype=numpy.float32)) / 127.5 - 1.0
    rows, columns = (side // PATCH_PX for side in pixels.shape[:2])
    blocks = pixels.reshape(rows // MERGE, MERGE, PATCH_PX, columns // MERGE, MERGE, PATCH_PX, 3)
    ordered = blocks.permute(0, 3, 1, 4, 6, 2, 5)  # block row, block column, row, column in it; channel, y, x
    single = ordered.reshape(rows * columns, 3, 1, PATCH_PX, PATCH_PX)
    return single.expand(-1, -1, FRAMES, -1, -1).reshape(rows * columns, -1), (1, rows, columns)
