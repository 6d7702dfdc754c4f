"""SPICE 1.0, by its Java program: a JSON file of texts in, a JSON file of scores out.

The corpus score is the mean of the questions' F scores. A text without any scene graph, on both sides, has none: its
question's value is null, and the mean is over the others (coco-caption's is then not a number).
Source: Anderson et al., ECCV 2016.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

import msgspec

from vqa_client.errors import UsageError
from vqa_client.files import encode
from vqa_client.scoring.explanation_metrics.child import SPICE_VARIABLE, Tools, java_command, last_words, started
from vqa_client.scoring.explanation_metrics.explained import Explained, Scopes, Scored, mean

NAMES: Final = ("SPICE",)
_CORENLP: Final = "edu.stanford.nlp"
"""What Java says that it can't find where CoreNLP, which is handed round apart from SPICE, is not there."""


def spice(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> list[dict[str, Scored]]:
    """SPICE of each scope; raises UsageError that says what is missing or what went wrong."""
    command = java_command(NAMES[0], tools.spice_jar, SPICE_VARIABLE, tools, ["-Xmx8G"])
    texts = sum(1 + len(one.references) for one in explained)
    with tempfile.TemporaryDirectory(prefix="spice-") as folder:
        asked, answered = Path(folder, "texts.json"), Path(folder, "scores.json")
        asked.write_bytes(encode([_asked(number, one) for number, one in enumerate(explained)]))
        _run([*command, str(asked), "-out", str(answered), "-silent"], tools.silence_s + texts * tools.spice_text_s)
        scores = _scores(answered, len(explained))
    each = [[scores[at] for at in scope] for scope in scopes]
    return [{NAMES[0]: Scored(corpus=mean(values), each=values)} for values in each]


def _asked(number: int, one: Explained) -> dict[str, Any]:
    references = [" ".join(tokens) for tokens in one.reference_tokens]
    return {"image_id": number, "test": " ".join(one.tokens), "refs": references}


def _run(command: Sequence[str], limit_s: float) -> None:
    jar = command[command.index("-jar") + 1]
    with tempfile.TemporaryFile() as errors:
        process = started(NAMES[0], command, folder=os.path.dirname(jar), errors=errors)
        try:
            process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise UsageError(f"SPICE took more than {limit_s:g} s and was ended") from None
        finally:
            process.kill()
            process.communicate()
        if process.returncode:
            reason = last_words(errors)
            raise UsageError(
                f"SPICE ended with code {process.returncode}: {reason}",
                hint="put the jars of CoreNLP 3.6.0 into lib/ beside SPICE's" if _CORENLP in reason else "",
            )


def _scores(path: Path, count: int) -> list[float | None]:
    try:
        answers = msgspec.json.decode(path.read_bytes().replace(b"NaN", b"null"))
        found = {answer["image_id"]: answer["scores"]["All"]["f"] for answer in answers}
        scores = [found[number] for number in range(count)]
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise UsageError(f"SPICE wrote no scores that can be read: {error!r}") from error
    return [float(score) if isinstance(score, int | float) and isfinite(score) else None for score in scores]
