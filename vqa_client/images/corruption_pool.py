"""A pool of processes that corrupt images just before they are sent; nothing is written to disk."""

import time
from concurrent.futures import Future
from functools import partial
from threading import Lock

from vqa_client.cpus import usable_cpus
from vqa_client.errors import VqaClientError
from vqa_client.images.corruption_job import CorruptionJob, make
from vqa_client.images.corruptions.codec import AppliedCorruption
from vqa_client.images.corruptions.table import Profile
from vqa_client.images.decide import Decision
from vqa_client.images.prepare import CACHE_BYTES, ImagePreparer, MemoryBudget, made_images
from vqa_client.images.steps import Recipe
from vqa_client.parallel import Processes, ProcessLost

BUSY = 0.8
"""If the processes are busy for this share of the time or more, they are what slows the run down."""


class CorruptedImages:
    """The image preparers of all variants of a run, which share their processes and their cache."""

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
        self._budget = MemoryBudget(kept_bytes=CACHE_BYTES)
        self._preparers: dict[str, ImagePreparer] = {}

    def of_variant(self, variant: str) -> ImagePreparer:
        """Return the preparer of a variant such as "gaussian_noise/3"; a variant without a level is clean."""
        name, _, level = variant.partition("/")
        if not level:
            return self._clean
        if variant not in self._preparers:
            corruption = AppliedCorruption(name=name, level=int(level), profile=self._profile, seed=self._seed)
            self._preparers[variant] = ImagePreparer(
                made=self._made, elsewhere=partial(self._submit, corruption), variant=variant, budget=self._budget
            )
        return self._preparers[variant]

    def limit(self) -> str:
        """Report whether corrupting images slowed the run down, and which corruption did most; "" if it didn't."""
        busy_s = sum(took_s for _, took_s in self._costs.values())
        if busy_s < BUSY * self._workers * (time.monotonic() - self._started_s):
            return ""
        name, (images, took_s) = max(self._costs.items(), key=lambda item: item[1][1])
        return (
            f"making the images held this run up: {name} took {1000 * took_s / images:.0f} ms an image and "
            f"{100 * took_s / busy_s:.0f} % of the time of {self._workers} process{'es' * (self._workers > 1)}"
        )

    def _submit(self, corruption: AppliedCorruption, path: str) -> Future[Decision]:
        decision: Future[Decision] = Future()
        job = CorruptionJob(path=path, recipe=self._recipe, corruption=corruption)

        def done(making: Future[tuple[Decision, float]]) -> None:
            if making.cancelled():
                decision.cancel()
            elif error := making.exception():
                decision.set_exception(_name_job(error, job))
            else:
                made, took_s = making.result()
                with self._counting:
                    images, total_s = self._costs.get(corruption.name, (0, 0.0))
                    self._costs[corruption.name] = images + 1, total_s + took_s
                decision.set_result(made)

        self._processes.submit(job).add_done_callback(done)
        return decision

    def __enter__(self) -> "CorruptedImages":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._clean.close()
        for preparer in self._preparers.values():
            preparer.close()
        self._processes.close()


def _name_job(error: BaseException, job: CorruptionJob) -> BaseException:
    """The error of a job; if its process died, an error that names the image and the corruption."""
    if not isinstance(error, ProcessLost):
        return error
    variant = f"{job.corruption.name}/{job.corruption.level}"
    return VqaClientError(
        f"a process {error.ending} while it made {variant} of {job.path}",
        hint="run the same command again to resume; SIGKILL mostly means that memory ran out",
    )
