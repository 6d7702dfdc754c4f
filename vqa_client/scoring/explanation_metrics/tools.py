"""Where the scorers are that are not part of this package: Java programs and model weights, given by path."""

import os
import shutil
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from vqa_client.errors import UsageError

METEOR_VARIABLE: Final = "VQA_CLIENT_METEOR_JAR"
SPICE_VARIABLE: Final = "VQA_CLIENT_SPICE_JAR"
BERTSCORE_VARIABLE: Final = "VQA_CLIENT_BERTSCORE_MODEL"
_DISTILBERT_LAYERS: Final = 5
"""The layer that the bert-score package reads of distilbert-base-uncased, e-ViL's model."""


class Tools(Struct, frozen=True, kw_only=True):
    """Paths of the outside scorers; None where there is none, and its metric is left null.

    `bertscore_model` is a folder of weights or a name that the bert-score package knows; `bertscore_layers` is the
    layer read of a folder's model. `silence_s` is how long METEOR may say nothing; SPICE, which says nothing till the
    end, has that long and `spice_text_s` more for each text it parses.
    """

    meteor_jar: str | None = None
    spice_jar: str | None = None
    bertscore_model: str | None = None
    bertscore_layers: int = _DISTILBERT_LAYERS
    java: str = "java"
    silence_s: float = 300.0
    spice_text_s: float = 1.0


def tools_named_in(environment: Mapping[str, str]) -> Tools:
    """The tools that VQA_CLIENT_METEOR_JAR, VQA_CLIENT_SPICE_JAR and VQA_CLIENT_BERTSCORE_MODEL name."""
    return Tools(
        meteor_jar=environment.get(METEOR_VARIABLE) or None,
        spice_jar=environment.get(SPICE_VARIABLE) or None,
        bertscore_model=environment.get(BERTSCORE_VARIABLE) or None,
    )


def java_command(metric: str, jar: str | None, variable: str, tools: Tools, options: list[str]) -> list[str]:
    """The command that starts a jar; raises UsageError that names what is missing, the jar or Java itself."""
    if not jar:
        raise UsageError(f"{metric} needs its Java program, and no path to it is given", hint=f"set {variable}")
    if not os.path.isfile(jar):
        raise UsageError(f"{metric}: there is no file {jar}", hint=f"set {variable} to the jar's path")
    java = shutil.which(tools.java)
    if java is None:
        raise UsageError(f"{metric} needs Java, and {tools.java!r} is not here", hint="install a Java runtime")
    return [java, "-Dfile.encoding=UTF-8", *options, "-jar", os.path.abspath(jar)]
