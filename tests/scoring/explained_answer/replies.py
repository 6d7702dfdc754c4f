"""Replies as a server gives them."""

from vqa_client.types import Completion


def said(text: str, finish_reason: str = "stop") -> Completion:
    return Completion(text=text, finish_reason=finish_reason)
