"""`python -m tiny_vlm.evaluate`: run the checkpoint with transformers on easy-VQA's test questions.

Asks the open questions and every other form of question about the same images; greedy, in batches of equal length.
`--answers FILE` writes the answers to the open questions, to compare a server's answers with them.
"""

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tiny_vlm import checkpoint, forms
from tiny_vlm.drawing import Shape
from tiny_vlm.easy import Asked, Shown, pictures
from tiny_vlm.packing import Packer
from tiny_vlm.tokens import END, IMAGE, PAD, load

HERE = Path(__file__).parent / "tiny-vlm"
LONGEST_REPLY, TOGETHER = 48, 64
SEED = 1
OTHERS = (forms.choice_form, forms.because_form, forms.entailment_form, forms.thinking_form)


class Request(NamedTuple):
    """Images as patches with their grids, and a prompt with its right reply."""

    pictures: tuple[tuple[Any, tuple[int, int, int]], ...]
    pair: forms.Pair


class Model:
    """A checkpoint and its tokenizer."""

    def __init__(self, folder: Path) -> None:
        self._model = checkpoint.load(folder).eval()
        self._tokenizer = load(folder)
        self._packer = Packer(self._tokenizer)

    def replies(self, requests: Sequence[Request]) -> list[str]:
        """The reply to each request; requests with prompts of equal length form a batch."""
        by_length = defaultdict[tuple[int, int], list[int]](list)
        prompts = [self._packer.prompt([grid for _, grid in each.pictures], each.pair.prompt) for each in requests]
        for at, prompt in enumerate(prompts):
            by_length[len(prompt), len(requests[at].pictures)].append(at)
        found = [""] * len(requests)
        for places in by_length.values():
            for start in range(0, len(places), TOGETHER):
                chosen = places[start : start + TOGETHER]
                said = self._said([prompts[at] for at in chosen], [requests[at] for at in chosen])
                for at, reply in zip(chosen, said, strict=True):
                    found[at] = reply
        return found

    def _said(self, prompts: list[list[int]], requests: list[Request]) -> list[str]:
        import torch

        shown = [picture for each in requests for picture in each.pictures]
        ids = torch.tensor(prompts)
        with torch.inference_mode():
            made = self._model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                mm_token_type_ids=(ids == IMAGE).int(),
                pixel_values=torch.cat([patches for patches, _ in shown]),
                image_grid_thw=torch.tensor([grid for _, grid in shown]),
                max_new_tokens=LONGEST_REPLY,
                do_sample=False,
                eos_token_id=END,
                pad_token_id=PAD,
            )
        return [str(self._tokenizer.decode(row[ids.shape[1] :].tolist())).strip() for row in made]


def requests_of(shown: Iterable[Shown], form: forms.Form | None, chance: random.Random) -> list[Request]:
    """A request for each question of each image; without a form, the question itself."""
    from PIL import Image

    found = []
    for each in shown:
        seen = (checkpoint.patches(Image.open(each.path)),)
        for asked in each.asked if form is None else each.asked[:1]:
            if form is None:
                found.append(Request(seen, forms.Pair(asked.question, asked.answer)))
            elif each.shape.known:
                found.append(Request(seen, form(asked, each.shape, chance)))
    return found


def several_of(shown: Sequence[Shown], count: int, chance: random.Random) -> list[Request]:
    """Requests about two to four images."""
    from PIL import Image

    known = [each for each in shown if each.shape.known]
    found = []
    for _ in range(count):
        chosen = chance.sample(known, chance.randint(2, 4))
        shapes: list[Shape] = [each.shape for each in chosen]
        seen = tuple(checkpoint.patches(Image.open(each.path)) for each in chosen)
        found.append(Request(seen, forms.several(shapes, chance)))
    return found


def main() -> None:
    """Print the share of right replies for each form."""
    parser = argparse.ArgumentParser(prog="python -m tiny_vlm.evaluate", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=HERE)
    parser.add_argument("--pictures", type=int, default=1000, help="how many of the 1,000 test pictures")
    parser.add_argument("--answers", type=Path, help="where the answers to the open questions go, as JSON")
    parser.add_argument("--open_only", action="store_true")
    given = parser.parse_args()
    chance, shown, model = random.Random(SEED), pictures("test")[: given.pictures], Model(given.checkpoint)
    sets = {"open": requests_of(shown, None, chance)}
    if not given.open_only:
        sets |= {form.__name__.removesuffix("_form"): requests_of(shown, form, chance) for form in OTHERS}
        sets["several images"] = several_of(shown, len(shown), chance)
    for name, requests in sets.items():
        replies = model.replies(requests)
        right = sum(_same(reply, each.pair.reply) for reply, each in zip(replies, requests, strict=True))
        sys.stdout.write(f"{name}: {100 * right / len(requests):.2f} % of {len(requests)}\n")
        sys.stdout.flush()
        if name == "open" and given.answers:
            asked = [(each.path, one) for each in shown for one in each.asked]
            given.answers.write_text(json.dumps([_row(*one, reply) for one, reply in zip(asked, replies, strict=True)]))


def _same(reply: str, wanted: str) -> bool:
    return " ".join(reply.split()) == " ".join(wanted.split())


def _row(path: str, asked: Asked, reply: str) -> dict[str, str]:
    return {"image": Path(path).name, "question": asked.question, "answer": asked.answer, "reply": reply}


if __name__ == "__main__":
    main()
