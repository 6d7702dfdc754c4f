"""Images corrupted just before they are sent, in processes of their own; nothing is written to the disk."""

import time
from concurrent.futures import Future
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import QuestionFailed
from vqa_client.images.corruptions import CORRUPTIONS, Profile, codec, image_seed
from vqa_client.images.prepare import ImagePreparer, made_images
from vqa_client.images.settle import FileKey, Refused, Settled, settle
from vqa_client.images.steps import Recipe
from vqa_client.parallel import Processes, usable_cpus
from vqa_client.types import Image

BUSY = 0.8
"""The share of the processes' time from which on they are what holds a run up."""


class Corruption(Struct, frozen=True, kw_only=True):
    """One corruption at one level, of one profile, for a run's seed."""

    name: str
    level: int
    profile: Profile
    seed: int


class Job(Struct, frozen=True, kw_only=True):
    """One file and what becomes of it: first the recipe, then the corruption."""

    path: str
    recipe: Recipe
    corruption: Corruption


class Made(Struct, frozen=True):
    """What became of a job, and how long it took in its process."""

    key: FileKey | None
    settled: Settled | None
    took_s: float


class CorruptedImages:
    """Preparers of all variants of a run, which share their processes and what they made."""

    def __init__(self, recipe: Recipe, *, profile: Profile, seed: int, workers: int | None = None) -> None:
        self._recipe = recipe
        self._profile = profile
        self._seed = seed
        self._workers = workers or usable_cpus()
        self._processes = Processes(make, self._workers)
        self._started_s = time.monotonic()
        self._costs: dict[str, tuple[int, float]] = {}
        self._counting = Lock()
        self._made = made_images()
        self._clean = ImagePreparer(recipe, made=self._made)
        self._preparers: dict[str, ImagePreparer] = {}

    def of_variant(self, variant: str) -> ImagePreparer:
        """Give what prepares the images of a variant such as "gaussian_noise/3"; one without a level is clean."""
        name, _, level = variant.partition("/")
        if not level:
            return self._clean
        if variant not in self._preparers:
            corruption = Corruption(name=name, level=int(level), profile=self._profile, seed=self._seed)
            self._preparers[variant] = ImagePreparer(
                made=self._made, elsewhere=partial(self._submit, corruption), variant=variant
            )
        return self._preparers[variant]

    def limit(self) -> str:
        """Say that making the images held the run up, and which corruption most; "" where it didn't."""
        busy_s = sum(took_s for _, took_s in self._costs.values())
        if busy_s < BUSY * self._workers * (time.monotonic() - self._started_s):
            return ""
        name, (images, took_s) = max(self._costs.items(), key=lambda item: item[1][1])
        return (
            f"making the images held this run up: {name} took {1000 * took_s / images:.0f} ms an image and "
            f"{100 * took_s / busy_s:.0f} % of the time of {self._workers} processes"
        )

    def _submit(self, corruption: Corruption, path: str) -> "Future[tuple[FileKey | None, Settled | None]]":
        settled: Future[tuple[FileKey | None, Settled | None]] = Future()

        def done(making: "Future[Made]") -> None:
            if making.cancelled():
                settled.cancel()
            elif error := making.exception():
                settled.set_exception(error)
            else:
                made = making.result()
                with self._counting:
                    images, took_s = self._costs.get(corruption.name, (0, 0.0))
                    self._costs[corruption.name] = images + 1, took_s + made.took_s
                settled.set_result((made.key, made.settled))

        job = Job(path=path, recipe=self._recipe, corruption=corruption)
        self._processes.submit(job).add_done_callback(done)
        return settled

    def __enter__(self) -> "CorruptedImages":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for preparer in (self._clean, *self._preparers.values()):
            preparer.close()
        self._processes.close()


def make(job: Job) -> Made:
    """Read a file, apply the recipe and corrupt what comes out; the corruption is the last thing done to it."""
    started_s = time.monotonic()
    key, settled = settle(job.path, job.recipe, decode=True)
    if isinstance(settled, Image):
        try:
            settled = _corrupted(job, settled)
        except QuestionFailed as failed:
            settled = Refused(message=str(failed), hint=failed.hint)
    return Made(key, settled, time.monotonic() - started_s)


def _corrupted(job: Job, image: Image) -> Image:
    wanted = job.corruption
    codec.one_thread()
    data = image.data if image.data is not None else Path(job.path).read_bytes()
    digest = image.file_sha256 or image.sha256
    pixels = codec.corrupted(
        codec.decoded(data, job.path),
        wanted.name,
        wanted.level,
        profile=wanted.profile,
        seed=image_seed(wanted.seed, digest, wanted.name, wanted.level),
        path=job.path,
    )
    encoded = codec.encoded_png(pixels, noisy=CORRUPTIONS[wanted.name].class_ == "Noise")
    return replace(
        image,
        mime="image/png",
        sha256=sha256(encoded).hexdigest(),
        size_bytes=len(encoded),
        width=pixels.shape[1],
        height=pixels.shape[0],
        transforms=(*image.transforms, f"{wanted.name}:{wanted.level}:{wanted.profile}:{wanted.seed}", "png"),
        file_sha256=digest,
        file_size_bytes=image.file_size_bytes or image.size_bytes,
        path="",
        data=encoded,
    )
