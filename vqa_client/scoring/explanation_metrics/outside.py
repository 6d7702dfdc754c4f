"""METEOR, SPICE and BERTScore, the scorers of explanations that run outside this package.

METEOR 1.5 is a Java program, run as coco-caption runs it: `java -jar meteor-1.5.jar - - -stdio -l en -norm`. It reads
one line per question ("SCORE ||| reference ||| reference ||| hypothesis") and answers with a line of statistics; for
the statistics of a scope ("EVAL ||| ... ||| ...") it prints one score per question and one for the whole scope, which
is not their mean. The program normalises texts itself, and like coco-caption we send tokens. Source: Denkowski and
Lavie, WMT 2014.

SPICE 1.0 is a Java program, too: it reads a JSON file of texts and writes a JSON file of scores. The corpus score is
the mean of the questions' F scores. If no text of a question has a scene graph, its value is null, and the mean is over
the others (coco-caption's mean is then not a number). Source: Anderson et al., ECCV 2016.

BERTScore F1 is that of the bert-score package: no idf weights, no rescaling; of several references the best one counts.
e-ViL and NLX-GPT use distilbert-base-uncased. It reads the original texts, not tokens. An explanation without words
scores 0, as in the package. Source: Zhang et al., ICLR 2020.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.files import encode
from vqa_client.scoring.explanation_metrics.coco import ByScope, Explained, ExplanationMetric, Scopes, averaged
from vqa_client.shipped import importing

METEOR_VARIABLE: Final = "VQA_CLIENT_METEOR_JAR"
SPICE_VARIABLE: Final = "VQA_CLIENT_SPICE_JAR"
BERTSCORE_VARIABLE: Final = "VQA_CLIENT_BERTSCORE_MODEL"
_DISTILBERT_LAYERS: Final = 5
"""The layer of distilbert-base-uncased, e-ViL's model, that the bert-score package uses."""
_LAST_WORDS_BYTES = 4096
_BAR: Final = "|||"
_CORENLP: Final = "edu.stanford.nlp"
"""The package in Java's error if CoreNLP, which isn't part of SPICE's download, is missing."""


class Tools(Struct, frozen=True, kw_only=True):
    """Paths of the outside scorers; the metric of a scorer that is None is null.

    `bertscore_model` is a folder of weights or a name that the bert-score package knows; `bertscore_layers` is the
    layer to use of a folder's model. METEOR is ended after `silence_s` without output, SPICE, which prints nothing
    before its end, after `silence_s` plus `spice_text_s` for each text.
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


def meteor(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> ByScope:
    """METEOR of each scope; raises UsageError if something is missing or fails."""
    command = java_command("METEOR", tools.meteor_jar, METEOR_VARIABLE, tools, ["-Xmx2G"])
    options = ["-", "-", "-stdio", "-l", "en", "-norm"]
    with running("METEOR", command + options, folder=os.path.dirname(command[-1]), silence_s=tools.silence_s) as child:
        statistics = [_statistics_of(child, explanation) for explanation in explained]
        return [{"METEOR": _meteor_scores(child, [statistics[at] for at in scope])} for scope in scopes]


def _statistics_of(child: "Child", explanation: Explained) -> str:
    texts = [" ".join(tokens).replace(_BAR, "") for tokens in (*explanation.reference_tokens, explanation.tokens)]
    child.say(f" {_BAR} ".join(["SCORE", *texts]))
    return child.hear()


def _meteor_scores(child: "Child", statistics: Sequence[str]) -> ExplanationMetric:
    child.say(f" {_BAR} ".join(["EVAL", *statistics]))
    each = [_meteor_score(child.hear()) for _ in statistics]
    return ExplanationMetric(value=_meteor_score(child.hear()), each=each)


def _meteor_score(line: str) -> float:
    try:
        number = float(line)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise UsageError(f"METEOR answered {line[:80]!r} where a score was due")
    return number


def spice(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> ByScope:
    """SPICE of each scope; raises UsageError if something is missing or fails."""
    command = java_command("SPICE", tools.spice_jar, SPICE_VARIABLE, tools, ["-Xmx8G"])
    texts = sum(1 + len(explanation.references) for explanation in explained)
    with tempfile.TemporaryDirectory(prefix="spice-") as folder:
        texts_path, scores_path = Path(folder, "texts.json"), Path(folder, "scores.json")
        entries = [
            {
                "image_id": number,
                "test": " ".join(explanation.tokens),
                "refs": [" ".join(tokens) for tokens in explanation.reference_tokens],
            }
            for number, explanation in enumerate(explained)
        ]
        texts_path.write_bytes(encode(entries))
        command += [str(texts_path), "-out", str(scores_path), "-silent"]
        _run_spice(command, tools.silence_s + texts * tools.spice_text_s)
        scores = _spice_scores(scores_path, len(explained))
    return averaged("SPICE", scores, scopes)


def _run_spice(command: Sequence[str], limit_s: float) -> None:
    jar = command[command.index("-jar") + 1]
    with tempfile.TemporaryFile() as errors:
        process = started("SPICE", command, folder=os.path.dirname(jar), errors=errors)
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


def _spice_scores(path: Path, count: int) -> list[float | None]:
    try:
        answers = msgspec.json.decode(path.read_bytes().replace(b"NaN", b"null"))
        by_number = {answer["image_id"]: answer["scores"]["All"]["f"] for answer in answers}
        scores = [by_number[number] for number in range(count)]
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise UsageError(f"SPICE wrote no scores that can be read: {error!r}") from error
    return [float(score) if isinstance(score, int | float) and isfinite(score) else None for score in scores]


def bertscore(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> ByScope:
    """BERTScore F1 of each scope; raises UsageError if something is missing or fails."""
    model = tools.bertscore_model
    if not model:
        hint = f"set {BERTSCORE_VARIABLE} to the folder of distilbert-base-uncased"
        raise UsageError("BERTScore needs a model, and no path to one is given", hint=hint)
    if os.sep in model and not os.path.isdir(model):
        raise UsageError(f"BERTScore: the folder {model} does not exist", hint=f"set {BERTSCORE_VARIABLE}")
    with_words = [at for at, explanation in enumerate(explained) if explanation.text.strip()]
    scores: list[float | None] = [0.0] * len(explained)
    if with_words:
        for at, score in zip(with_words, _bert_scores(model, [explained[at] for at in with_words], tools), strict=True):
            scores[at] = score
    return averaged("BERTScore", scores, scopes)


def _bert_scores(model: str, explained: Sequence[Explained], tools: Tools) -> list[float | None]:
    with importing("explain", "BERTScore needs the package bert-score, which is not installed"):
        import bert_score
    layers = tools.bertscore_layers if os.path.isdir(model) else None
    candidates = [explanation.text for explanation in explained]
    references = [list(explanation.references) for explanation in explained]
    try:
        _, _, f1 = bert_score.score(candidates, references, model_type=model, num_layers=layers, idf=False)
    except Exception as error:  # three packages raise errors without a common base class
        message = f"{type(error).__name__}: {error}".split("\n")[0]
        raise UsageError(f"BERTScore can't use the model {model}: {message}") from error
    return [value if isfinite(value) else None for value in f1.tolist()]


def java_command(metric: str, jar: str | None, variable: str, tools: Tools, options: list[str]) -> list[str]:
    """The command that starts a jar; raises UsageError if the jar or Java is missing."""
    if not jar:
        raise UsageError(f"{metric} needs its Java program, and no path to it is given", hint=f"set {variable}")
    if not os.path.isfile(jar):
        raise UsageError(f"{metric}: {jar} does not exist", hint=f"set {variable} to the jar's path")
    java = shutil.which(tools.java)
    if java is None:
        raise UsageError(f"{metric} needs Java, and {tools.java!r} was not found", hint="install a Java runtime")
    return [java, "-Dfile.encoding=UTF-8", *options, "-jar", os.path.abspath(jar)]


class Child:
    """A running program, killed after `silence_s` without output; `name` is its name in messages."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], errors: IO[bytes], silence_s: float) -> None:
        self._name, self._process, self._errors, self._silence_s = name, process, errors, silence_s
        self._heard, self._over, self._silent = threading.Event(), threading.Event(), False
        self._watch = threading.Thread(target=self._kill_when_silent, daemon=True)
        self._watch.start()

    def say(self, line: str) -> None:
        """Send one line; raises UsageError if the program has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode("utf-8", "replace") + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._error_when_gone() from None

    def hear(self) -> str:
        """Wait for one line; raises UsageError if the program ends or is silent for too long."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self._heard.set()
        if not line.endswith(b"\n"):
            raise self._error_when_gone()
        return line.decode("utf-8", "replace").strip()

    def end(self) -> None:
        """Kill the program and wait until it has ended."""
        self._over.set()
        self._heard.set()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # unsent lines
                pipe.close()
        self._process.wait()
        self._watch.join()

    def _kill_when_silent(self) -> None:
        while self._heard.wait(self._silence_s):
            if self._over.is_set():
                return
            self._heard.clear()
        self._silent = True
        self._process.kill()

    def _error_when_gone(self) -> UsageError:
        self._process.kill()
        code = self._process.wait()
        if self._silent:
            return UsageError(f"{self._name} printed nothing for {self._silence_s:g} s and was ended")
        return UsageError(f"{self._name} ended with code {code}: {last_words(self._errors)}")


@contextlib.contextmanager
def running(name: str, command: Sequence[str], *, folder: str, silence_s: float) -> Iterator[Child]:
    """Run a program in `folder`; raises UsageError if it can't be started."""
    with tempfile.TemporaryFile() as errors:
        child = Child(name, started(name, command, folder=folder, errors=errors), errors, silence_s)
        try:
            yield child
        finally:
            child.end()


def started(name: str, command: Sequence[str], *, folder: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program whose stderr is a file, as it could fill a pipe; raises UsageError."""
    try:
        return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    except OSError as error:
        raise UsageError(f"{name} can't be started: {error.strerror or error}") from error


def last_words(errors: IO[bytes]) -> str:
    """The last line of a program's stderr; of a Java trace the last cause, without its place."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
    lines = [line.strip() for line in errors.read().decode("utf-8", "replace").split("\n")]
    telling = [line for line in lines if line and not line.startswith(("at ", "... "))]
    return telling[-1] if telling else "it gave no reason"
