"""MP-DocVQA's own evaluator, and the page that a reply names.

Source: Tito et al., Hierarchical multimodal transformers for Multi-Page DocVQA (Pattern Recognition 2023), metrics.py.
"""

import re

from msgspec.structs import replace

from vqa_client.scoring.published.anls import anls_mmf
from vqa_client.scoring.readings import short_answer, without_stop
from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer, Question

_PAGE = re.compile(r"[\s,;]*[(\[]?(?:\bon )?\bpage:?\s*(?:number:?\s*)?(\d{1,4})[)\]]?\.?\s*$", re.IGNORECASE)


def anls_mp(answer: str, reference: str, *, answerable: bool = True) -> float:
    """MP-DocVQA's own evaluator: without case and outer spaces; an empty reply and "none" are 0.

    Without an answer in the document (as DUDE asks) only "none" is right, since an empty reply is 0 before that.
    """
    said = answer.lower().strip()
    if not answerable:
        return float(said == "none")
    return 0.0 if said in ("", "none") else anls_mmf(answer, reference)


def exact_mp(answer: str, reference: str, *, answerable: bool = True) -> float:
    """MP-DocVQA's own accuracy: the same text without case and outer spaces; "none" is 0."""
    said = answer.lower().strip()
    if not answerable:
        return float(said in ("", "none"))
    return float(said == reference.lower().strip() != "none")


def answer_without_page(reply: Reply, question: Question) -> Answer:
    """The short answer, without the page that is named at its end."""
    found = short_answer(reply, question)
    return replace(found, text=without_stop(_PAGE.sub("", found.text))) if found.text else found


def reply_without_page(reply: Reply, question: Question) -> Answer:
    """All that was said but for the page that is named at its end, as another harness takes it for the answer."""
    del question
    return Answer(text=_PAGE.sub("", reply.raw), rule="verbatim")


def page_named(reply: Reply, question: Question) -> Answer:
    """The number of the page that is named at the end of a reply."""
    del question
    found = _PAGE.search(reply.text)
    return Answer(text=found[1], rule="page") if found else Answer(status="unparsed", rule="page")


def right_page(said: str, question: Question) -> float:
    """1 for the page that the answer is on."""
    return float((int(said),) == question.evidence)
