"""Images corrupted just before they are sent, in processes of their own; nothing is written to the disk."""

from concurrent.futures import Future
from functools import partial
from hashlib import sha256
from pathlib import Path
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


class CorruptedImages:
    """Preparers of all variants of a run, which share their processes and what they made."""

    def __init__(self, recipe: Recipe, *, profile: Profile, seed: int, workers: int | None = None) -> None:
        self._recipe = recipe
        self._profile = profile
        self._seed = seed
        self._processes = Processes(settle_corrupted, workers or usable_cpus())
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

    def _submit(self, corruption: Corruption, path: str) -> "Future[tuple[FileKey | None, Settled | None]]":
        return self._processes.submit(Job(path=path, recipe=self._recipe, corruption=corruption))

    def __enter__(self) -> "CorruptedImages":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for preparer in (self._clean, *self._preparers.values()):
            preparer.close()
        self._processes.close()


def settle_corrupted(job: Job) -> tuple[FileKey | None, Settled | None]:
    """Read a file, apply the recipe and corrupt what comes out; the corruption is the last thing done to it."""
    key, settled = settle(job.path, job.recipe, decode=True)
    if not isinstance(settled, Image):
        return key, settled
    try:
        return key, _corrupted(job, settled)
    except QuestionFailed as failed:
        return key, Refused(message=str(failed), hint=failed.hint)


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
