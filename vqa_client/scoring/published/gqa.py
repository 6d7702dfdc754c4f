"""The harnesses' rules for GQA (lmms-eval at 75571cfe, VLMEvalKit at e8e78f05), of a reply and one reference.

lmms-eval deletes ASCII punctuation, in the reference too, and puts no space in its place. The published script compares
the texts as they are.
"""

import string

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def lmms_eval(reply: str, reference: str) -> float:
    """Equal but for case, punctuation and spaces around the reply."""
    said, wanted = (text.lower().translate(_NO_PUNCTUATION) for text in (reply.strip(), reference))
    return float(said == wanted)


def vlmevalkit(reply: str, reference: str) -> float:
    """Equal but for case and outer spaces."""
    return float(reply.strip().lower() == reference.strip().lower())
