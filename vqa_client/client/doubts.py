"""What replies show of a server that should be looked at: it may not see images, or be another model than before."""

from collections.abc import Callable

from vqa_client.types import Completion, Request

TEMPLATE_TOKENS, CHARACTERS_PER_TOKEN, LEAST_IMAGE_TOKENS = 40, 3, 10
"""Generous for what a chat template adds and a text needs; the smallest image costs any model more than the last."""


class Doubts:
    """Each is noted once."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._named = ""
        self._renamed = self._sees = False

    def trust_sight(self) -> None:
        """The server has been seen to see images: token counts are no reason to doubt it."""
        self._sees = True

    def look_at(self, completion: Completion, request: Request) -> None:
        """Compare a reply with its request and with the replies before it."""
        if completion.prompt_tokens is not None and not self._sees and request.images:
            self._doubt_sight(completion.prompt_tokens, request)
        if completion.model != self._named and completion.model:
            self._doubt_model(completion.model)

    def _doubt_sight(self, prompt_tokens: int, request: Request) -> None:
        """The server counted no more tokens than the text alone may have."""
        images = request.images
        characters = sum(len(part) for part in request.parts() if isinstance(part, str))
        most = TEMPLATE_TOKENS + characters / CHARACTERS_PER_TOKEN + LEAST_IMAGE_TOKENS * len(images)
        if prompt_tokens < most:
            self._sees = True  # it is asked once
            shown = f"{len(images)} images" if len(images) > 1 else "an image"
            self._note(f"the server counted {prompt_tokens} prompt tokens for a text and {shown}: does it see images?")

    def _doubt_model(self, named: str) -> None:
        """The server may have been changed under the run."""
        if self._named and not self._renamed:
            self._renamed = True
            self._note(f"replies name {named[:80]}, and {self._named[:80]} before: is it still the same model?")
        self._named = self._named or named
