"""Replies as a server gives them."""

from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.types import Completion


def said(text: str, finish_reason: str = "stop") -> Reply:
    return reply_from(Completion(text=text, finish_reason=finish_reason))
