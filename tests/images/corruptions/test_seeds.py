"""The same image, corruption, level and seed give the same bytes, whoever makes them and after what."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
import pytest

from tests.images.corruptions.drawings import corrupted_png, drawn
from tests.images.pictures import encoded
from vqa_client.images.corruptions.codec import corrupt, image_seed
from vqa_client.images.corruptions.table import CORRUPTIONS, FOURTEEN
from vqa_client.parallel import in_processes

CHANCE = ("shot_noise", "gaussian_noise", "impulse_noise", "speckle_noise", "snow", "elastic", "spatter")


def data() -> bytes:
    from PIL import Image

    return encoded(Image.fromarray(drawn(97, 61)), "PNG")


def made(job: tuple[str, int]) -> str:
    name, level = job
    return hashlib.sha256(corrupted_png(data(), name=name, level=level, seed=3)).hexdigest()


JOBS = [(name, level) for name in FOURTEEN for level in (1, 5)]


def test_neither_order_nor_workers_matter() -> None:
    alone = {job: made(job) for job in JOBS}
    np.random.seed(1)
    assert {job: made(job) for job in reversed(JOBS)} == alone
    assert dict(zip(JOBS, in_processes(made, JOBS, workers=2), strict=True)) == alone
    with ThreadPoolExecutor(4) as pool:
        assert dict(zip(JOBS, pool.map(made, JOBS), strict=True)) == alone


def test_opencv_s_threads_do_not_matter() -> None:
    def all_made(threads: int) -> list[Any]:
        cv2.setNumThreads(threads)
        return [corrupt(drawn(640, 480), name, 2, seed=1) for name in FOURTEEN]

    before = cv2.getNumThreads()
    try:
        for one, four in zip(all_made(1), all_made(4), strict=True):
            assert (one == four).all()
    finally:
        cv2.setNumThreads(before)


def test_a_later_process_makes_the_same() -> None:
    code = "from tests.images.corruptions.test_seeds import made; print(made(('elastic', 2)), made(('snow', 3)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == [made(("elastic", 2)), made(("snow", 3))]


@pytest.mark.parametrize("name", CHANCE)
def test_another_seed_makes_another_picture(name: str) -> None:
    one, two, again = (corrupted_png(data(), name=name, level=3, seed=seed) for seed in (1, 2, 1))
    assert one != two
    assert one == again


@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - set(CHANCE)))
def test_where_chance_has_no_part_the_seed_changes_nothing(name: str) -> None:
    assert corrupted_png(data(), name=name, level=1, seed=1) == corrupted_png(data(), name=name, level=1, seed=2)


def test_each_image_corruption_and_level_has_a_seed_of_its_own() -> None:
    digests = ("a" * 64, "b" * 64)
    seeds = {
        image_seed(seed, digest, name, level)
        for seed in (0, 1)
        for digest in digests
        for name in FOURTEEN
        for level in range(1, 6)
    }
    assert len(seeds) == 2 * 2 * 14 * 5
    assert image_seed(0, "ab", "snow", 1) == int(hashlib.sha256(b"0/ab/snow/1").hexdigest(), 16)


def test_noise_is_of_the_file_and_not_of_its_place() -> None:
    one, two = data(), data() + b""
    assert corrupted_png(one, name="snow", level=1, seed=0, path="a.png") == corrupted_png(
        two, name="snow", level=1, seed=0, path="elsewhere/b.png"
    )
