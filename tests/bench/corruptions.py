"""CPU time of the fourteen corruptions at five levels, alone and with decoding and encoding as in a run; run by hand.

`python -m tests.bench.corruptions [FOLDER]` uses the photographs of a folder, or else a drawing with noise. It prints
CPU time, which other work on the machine changes by a fifth; it changes elapsed time far more.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from vqa_client.images.corruption_job import CorruptionJob, make
from vqa_client.images.corruptions import codec
from vqa_client.images.corruptions.codec import AppliedCorruption, corrupt
from vqa_client.images.corruptions.table import CORRUPTIONS, FOURTEEN
from vqa_client.images.steps import Recipe

WIDTH, HEIGHT = 640, 480
ROUNDS = 3
DEAR = frozenset({"defocus_blur", "zoom_blur"})
"""They take 12 to 15 ms of CPU for an image of 640 x 480, the others 1 to 10."""


def main() -> None:
    """Print a row per corruption, and the sums."""
    codec.prepare_process()
    with tempfile.TemporaryDirectory() as folder:
        paths = sorted(Path(sys.argv[1]).glob("*.jpg")) if len(sys.argv) > 1 else [_drawn(Path(folder))]
        alone = {name: _cpu_ms(lambda name=name: _all_levels(name, _sized(paths[0]))) for name in FOURTEEN}
        made = {name: _cpu_ms(lambda name=name: _made(name, paths)) / len(paths) for name in FOURTEEN}
    print(
        f"CPU in ms a picture, means of five levels; {WIDTH} x {HEIGHT} alone, {len(paths)} files as a run makes them"
    )
    for name in FOURTEEN:
        print(f"{name:18s} {'dear' if name in DEAR else 'cheap':6s} {alone[name] / 5:6.1f} {made[name] / 5:6.1f}")
    print(f"all 14 x 5 of one picture, as pixels: {sum(alone.values()) / 1000:.2f} s")
    cheap = [made[name] / 5 for name in FOURTEEN if name not in DEAR]
    print(f"the {len(cheap)} cheap ones, read to PNG: {sum(cheap) / len(cheap):.1f} ms an image")


def _cpu_ms(work: Any) -> float:
    """The shortest of several rounds, after a first one that opens files and allocates memory."""
    work()
    taken = []
    for _ in range(ROUNDS):
        started_s = time.process_time()
        work()
        taken.append(time.process_time() - started_s)
    return 1000 * min(taken)


def _all_levels(name: str, pixels: Any) -> None:
    for level in CORRUPTIONS[name].levels():
        corrupt(pixels, name, level, seed=level)


def _made(name: str, paths: list[Path]) -> None:
    for path in paths:
        for level in CORRUPTIONS[name].levels():
            wanted = AppliedCorruption(name=name, level=level, profile="vqa-vrb", seed=0)
            make(CorruptionJob(path=str(path), recipe=Recipe(), corruption=wanted))


def _sized(path: Path) -> Any:
    import cv2

    return cv2.resize(codec.decoded(path.read_bytes()), (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)


def _drawn(folder: Path) -> Path:
    from PIL import Image

    grain = Image.effect_noise((WIDTH, HEIGHT), 12).convert("RGB")
    slope = Image.linear_gradient("L").resize((WIDTH, HEIGHT)).convert("RGB")
    path = folder / "drawn.jpg"
    Image.blend(slope, grain, 0.3).save(path, quality=92)
    return path


if __name__ == "__main__":
    main()
