"""Answers prompts with transformers, greedily and one at a time, without a server: `python offline.py CHECKPOINT`.

Runs in vLLM's environment, which has transformers. Each line of standard input is a JSON list of
{"prompt": text, "images": [paths]}; the answer on standard output is one line, a JSON list of texts.
"""

import json
import sys

import torch
from PIL import Image
from transformers import AutoProcessor, Qwen2VLForConditionalGeneration

MAX_TOKENS = 32


class Model:
    """The checkpoint in float32."""

    def __init__(self, checkpoint: str) -> None:
        self._processor = AutoProcessor.from_pretrained(checkpoint)
        self._model = Qwen2VLForConditionalGeneration.from_pretrained(checkpoint, dtype=torch.float32).eval()

    def answer(self, prompt: str, paths: list[str]) -> str:
        """The reply to a user's message of images and a text."""
        images = [Image.open(path).convert("RGB") for path in paths]
        parts = [{"type": "image"}] * len(images) + [{"type": "text", "text": prompt}]
        text = self._processor.apply_chat_template([{"role": "user", "content": parts}], add_generation_prompt=True)
        given = self._processor(text=[text], images=images or None, return_tensors="pt")
        with torch.inference_mode():
            tokens = self._model.generate(**given, max_new_tokens=MAX_TOKENS, do_sample=False)
        (reply,) = self._processor.batch_decode(tokens[:, given["input_ids"].shape[1] :], skip_special_tokens=True)
        return str(reply)


def main() -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    model = Model(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps([model.answer(each["prompt"], each["images"]) for each in json.loads(line)]), flush=True)


if __name__ == "__main__":
    main()
