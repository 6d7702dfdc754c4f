"""`python -m tiny_vlm.train --output FOLDER`: train a checkpoint on easy-VQA's images in under an hour on two cores.

First the vision tower alone learns what each image shows and where: otherwise the language model stays on a plateau
where it knows only colours. Then both learn the questions in all their forms.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_vlm import checkpoint, forms, tokens
from tiny_vlm.drawing import COLOURS, SHAPES, SIDES_PX, Shape, drawn, some_shape
from tiny_vlm.easy import Asked, Shown, pictures
from tiny_vlm.packing import NOT_LEARNED, Grid, Packed, Packer, batch

SEED = 20261128
VISION_STEPS, VISION_BATCH, VISION_RATE = 1000, 96, 2e-3
STEPS, SCENES, RATE, WARM_UP = 1500, 20, 1.5e-3, 80
QUESTIONS, CHARACTERS = 8, 900
"""The most questions of a scene, and the total length of prompts at which no more are added."""
OWN_SHARE, SEVERAL_SHARE = 0.3, 0.25
"""Shares of scenes with a drawing of our own, and with two to four images."""
VISION_SHARE = 0.2
"""The factor on the learning rate of the vision tower, which is already trained."""
LOOK_STEPS = 100

Patches = tuple[Any, Grid]


class Pictures:
    """easy-VQA's training images as patches, and new drawings of our own."""

    def __init__(self, chance: random.Random) -> None:
        from PIL import Image

        self.shown = pictures("train")
        self._chance = chance
        self._patches = [checkpoint.patches(Image.open(each.path)) for each in self.shown]
        self._known = [at for at, each in enumerate(self.shown) if each.shape.known]

    def given(self) -> tuple[Shown, Patches]:
        """A random image of easy-VQA."""
        at = self._chance.randrange(len(self.shown))
        return self.shown[at], self._patches[at]

    def known(self) -> tuple[Shape, Patches]:
        """An image or drawing with known shape and colour."""
        if self._chance.random() < OWN_SHARE:
            return self.own()
        at = self._chance.choice(self._known)
        return self.shown[at].shape, self._patches[at]

    def own(self) -> tuple[Shape, Patches]:
        """A new drawing."""
        shape = some_shape(self._chance)
        side_px = self._chance.choice(SIDES_PX)
        return shape, checkpoint.patches(drawn(shape, self._chance, side_px))


def texts(count: int, chance: random.Random) -> Iterator[str]:
    """Prompts and replies to train the tokenizer on."""
    shown = pictures("train")
    for _ in range(count):
        each = chance.choice(shown)
        yield from forms.single(chance.choice(each.asked), each.shape, chance)
        yield from forms.several([some_shape(chance) for _ in range(3)], chance)
        yield from forms.single(forms.own_question(shape := some_shape(chance), chance), shape, chance)


def scene(source: Pictures, packer: Packer, chance: random.Random) -> tuple[Packed, list[Patches]]:
    """Images, and questions about them, as one sequence."""
    draw = chance.random()
    if draw < SEVERAL_SHARE:
        drawn_ = [source.known() for _ in range(chance.randint(2, 4))]
        pairs = _some(lambda: forms.several([shape for shape, _ in drawn_], chance))
        chosen = [patches for _, patches in drawn_]
    elif draw < SEVERAL_SHARE + OWN_SHARE:
        shape, patches = source.own()
        pairs = _some(lambda: forms.single(_own(shape, chance), shape, chance))
        chosen = [patches]
    else:
        shown, patches = source.given()
        pairs = _some(lambda: forms.single(chance.choice(shown.asked), shown.shape, chance))
        chosen = [patches]
    return packer.pack([grid for _, grid in chosen], pairs), chosen


def _some(ask: Callable[[], forms.Pair]) -> list[forms.Pair]:
    pairs: list[forms.Pair] = []
    while len(pairs) < QUESTIONS and sum(len(pair.prompt) for pair in pairs) < CHARACTERS:
        pairs.append(ask())
    return pairs


def _own(shape: Shape, chance: random.Random) -> Asked:
    if shape.shape == "rectangle" and chance.random() < 0.15:
        return forms.square_question(shape)
    return forms.own_question(shape, chance)


def rate_at(step: int, steps: int) -> float:
    """The factor on the highest learning rate: rises over WARM_UP steps, then falls along a cosine to 1/50."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    along = (step - WARM_UP) / max(1, steps - WARM_UP)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * along))


def seen(tower: Any, chosen: Sequence[Patches]) -> Any:
    """The merged tokens of all images in order: (N, WIDTH)."""
    import torch

    grids = torch.tensor([grid for _, grid in chosen])
    found = tower(torch.cat([patches for patches, _ in chosen]), grid_thw=grids)
    return getattr(found, "pooler_output", found)


def teach_vision(model: Any, source: Pictures, steps: int) -> None:
    """Train the tower to classify colour and shape from the mean of an image's tokens."""
    import torch
    from torch.nn import functional

    tower = model.model.visual
    heads = torch.nn.Linear(checkpoint.WIDTH, len(COLOURS) + len(SHAPES))
    weights = [*tower.parameters(), *heads.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=VISION_RATE, weight_decay=0.01)
    begun = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = VISION_RATE * rate_at(step, steps)
        drawn_ = [source.known() for _ in range(VISION_BATCH)]
        merged = seen(tower, [patches for _, patches in drawn_])
        counts = [patches[0].shape[0] // checkpoint.MERGE**2 for _, patches in drawn_]
        means = torch.stack([part.mean(0) for part in merged.split(counts)])
        colour, shape = heads(means).split((len(COLOURS), len(SHAPES)), dim=1)
        wanted_colour = torch.tensor([list(COLOURS).index(str(each.colour)) for each, _ in drawn_])
        wanted_shape = torch.tensor([SHAPES.index(str(each.shape)) for each, _ in drawn_])
        loss = functional.cross_entropy(colour, wanted_colour) + functional.cross_entropy(shape, wanted_shape)
        _step(optimizer, loss, weights)
        if step % LOOK_STEPS == 0 or step == steps - 1:
            right = [
                float((a.argmax(1) == b).float().mean()) for a, b in ((colour, wanted_colour), (shape, wanted_shape))
            ]
            _say(f"vision {step}: loss {loss:.3f}, colour {right[0]:.3f}, shape {right[1]:.3f}", begun)


def teach(
    model: Any, source: Pictures, packer: Packer, steps: int, rate: float, chance: random.Random, keep: Any
) -> None:
    """Train the whole model to answer; `keep` is called at intervals."""
    import torch
    from torch.nn import functional

    tower = list(model.model.visual.parameters())
    others = [weight for name, weight in model.named_parameters() if "visual" not in name]
    groups = [{"params": tower, "share": VISION_SHARE}, {"params": others, "share": 1.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), weight_decay=0.05)
    begun = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * group["share"] * rate_at(step, steps)
        scenes = [scene(source, packer, chance) for _ in range(SCENES)]
        made = batch([packed for packed, _ in scenes])
        embedded = model.model.language_model.embed_tokens(made["tokens"])
        features = seen(model.model.visual, [patches for _, chosen in scenes for patches in chosen])
        embedded = embedded.masked_scatter((made["tokens"] == tokens.IMAGE)[..., None], features)
        hidden = model.model.language_model(
            inputs_embeds=embedded, position_ids=made["positions"], attention_mask=made["mask"], use_cache=False
        ).last_hidden_state
        learned = made["labels"] != NOT_LEARNED
        logits, labels = model.lm_head(hidden[learned]), made["labels"][learned]
        loss = functional.cross_entropy(logits, labels)
        _step(optimizer, loss, [*tower, *others])
        if step % LOOK_STEPS == 0 or step == steps - 1:
            right = float((logits.argmax(1) == labels).float().mean())
            _say(f"{step}: loss {loss:.3f}, tokens right {right:.3f}, {made['tokens'].shape[1]} long", begun)
        if step % (5 * LOOK_STEPS) == 0 and step:
            keep()


def _step(optimizer: Any, loss: Any, weights: Sequence[Any]) -> None:
    import torch

    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    optimizer.step()


def _say(text: str, begun: float) -> None:
    sys.stdout.write(f"{time.monotonic() - begun:7.0f} s  {text}\n")
    sys.stdout.flush()


def main() -> None:
    """Train and write the checkpoint."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m tiny_vlm.train", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--start", type=Path, help="a checkpoint to continue from, with its tokenizer and vision tower")
    parser.add_argument("--vision_steps", type=int, default=VISION_STEPS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", type=float, default=RATE, help="the highest of the language model")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    chance = random.Random(given.seed)
    tokenizer = tokens.load(given.start) if given.start else tokens.learn(texts(6000, chance))
    source, model = Pictures(chance), checkpoint.load(given.start) if given.start else checkpoint.new_model()
    if not given.start:
        teach_vision(model, source, given.vision_steps)

    def keep() -> None:
        checkpoint.save(model, tokenizer, given.output)

    teach(model, source, Packer(tokenizer), given.steps, given.rate, chance, keep)
    keep()


if __name__ == "__main__":
    main()
