"""The outside scorers, with a small program instead of Java that speaks their protocols."""

import importlib.util
import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.scoring.explanation_metrics.samples import PREDICTIONS, REFERENCES, score_explanations
from vqa_client.scoring.explanation_metrics.evil import ExplanationScores
from vqa_client.scoring.explanation_metrics.outside import Tools, running

# The jar's text says how the program behaves. METEOR's score of a question is the share of its words that any
# reference has, that of a corpus the share over all words. SPICE's is the same for a question, null where it is 0.
JAVA = """#!{python}
import json, os, pathlib, sys, time
jar = pathlib.Path(sys.argv[sys.argv.index("-jar") + 1])
behaviour = jar.read_text()
(jar.parent / "ran").write_text(json.dumps([os.getpid(), os.getcwd(), sys.argv[1:]]))
if behaviour == "dies":
    sys.exit("Exception\\nCaused by: java.lang.OutOfMemoryError: Java heap space\\n\\tat x.Y(Z)\\n\\t... 3 more")
if behaviour == "lacks":
    sys.exit("Exception\\nCaused by: java.lang.ClassNotFoundException: edu.stanford.nlp.semgraph.SemgrexPattern")
if behaviour == "hangs":
    time.sleep(600)

def shared(said, references):
    known = {{word for reference in references for word in reference.split()}}
    return sum(word in known for word in said.split()), len(said.split())

def ratio(pair):
    return pair[0] / pair[1] if pair[1] else 0.0

if "-stdio" in sys.argv:
    for line in sys.stdin:
        kind, *parts = line.rstrip("\\n").split(" ||| ")
        if behaviour == "stalls" and kind == "EVAL":
            time.sleep(600)
        elif behaviour == "babbles" and kind == "EVAL":
            print("NaN", flush=True)
        elif kind == "SCORE":
            print(*shared(parts[-1], parts[:-1]), flush=True)
        else:
            pairs = [tuple(map(int, part.split())) for part in parts]
            for pair in [*pairs, tuple(map(sum, zip(*pairs)))]:
                print(ratio(pair), flush=True)
else:
    asked = json.loads(pathlib.Path(sys.argv[sys.argv.index("-jar") + 2]).read_text())
    scores = [
        {{"image_id": one["image_id"], "scores": {{"All": {{"f": ratio(shared(one["test"], one["refs"])) or None}}}}}}
        for one in reversed(asked)
    ]
    answer = "[]" if behaviour == "babbles" else json.dumps(scores)
    pathlib.Path(sys.argv[sys.argv.index("-out") + 1]).write_text(answer)
"""


@pytest.fixture
def java(tmp_path: Path) -> str:
    program = tmp_path / "java"
    program.write_text(JAVA.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def _scores(java: str, metric: str, behaviour: str = "", *, silence_s: float = 30.0) -> ExplanationScores:
    jar = Path(java).parent / "scorer.jar"
    jar.write_text(behaviour)
    tools = replace(Tools(java=java, silence_s=silence_s, spice_text_s=0), **{f"{metric}_jar": str(jar)})
    said = {"1": "street street dry", "2": "", "3": "helmet"}
    references = {"1": ["street wet", "it is"], "2": ["snow"], "3": ["helmet on"]}
    return score_explanations(said, references, right={"1"}, metrics=[metric], tools=tools)


def _started(java: str) -> tuple[int, str, list[str]]:
    pid, folder, arguments = json.loads((Path(java).parent / "ran").read_text())
    return pid, folder, arguments


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_meteor_scores_questions_and_both_scopes_in_one_run(java: str) -> None:
    scores = _scores(java, "meteor")
    assert scores.unfiltered.metrics["METEOR"].each == pytest.approx([2 / 3, 0, 1])
    assert scores.unfiltered.metrics["METEOR"].value == pytest.approx(3 / 4)
    assert scores.filtered is not None
    assert scores.filtered.metrics["METEOR"].value == pytest.approx(2 / 3)
    pid, folder, arguments = _started(java)
    assert arguments[-6:] == ["-", "-", "-stdio", "-l", "en", "-norm"]
    assert folder == str(Path(java).parent)
    assert _is_gone(pid)


def test_spice_scores_are_joined_by_number_and_a_null_one_is_left_out_of_the_mean(java: str) -> None:
    scores = _scores(java, "spice")
    metric = scores.unfiltered.metrics["SPICE"]
    assert metric.each == [pytest.approx(2 / 3), None, 1]
    assert metric.value == pytest.approx(5 / 6)
    assert (metric.n, scores.unfiltered.n) == (2, 3)
    assert scores.filtered is not None
    assert scores.filtered.metrics["SPICE"].value == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", ["meteor", "spice"])
def test_the_metric_of_a_crashed_program_is_null_with_its_last_line(java: str, metric: str) -> None:
    (scored,) = _scores(java, metric, "dies").unfiltered.metrics.values()
    assert scored.value is None
    ending = "ended with code 1: Caused by: java.lang.OutOfMemoryError: Java heap space"
    assert scored.reason == f"{metric.upper()} {ending}"


def test_spice_without_corenlp_names_its_folder(java: str) -> None:
    (scored,) = _scores(java, "spice", "lacks").unfiltered.metrics.values()
    assert scored.value is None
    assert "SemgrexPattern (put the jars of CoreNLP 3.6.0 into lib/" in scored.reason


@pytest.mark.parametrize(("metric", "behaviour"), [("meteor", "hangs"), ("meteor", "stalls"), ("spice", "hangs")])
def test_a_program_that_hangs_is_ended(java: str, metric: str, behaviour: str) -> None:
    started = time.perf_counter()
    for silence_s in (0.7, 7.0, 60.0):  # a busy machine starts it late
        (scored,) = _scores(java, metric, behaviour, silence_s=silence_s).unfiltered.metrics.values()
        assert scored.value is None
        waited = "SPICE took more than" if metric == "spice" else "METEOR printed nothing for"
        assert scored.reason == f"{waited} {silence_s:g} s and was ended"
        if (Path(java).parent / "ran").exists():
            break
    assert time.perf_counter() - started < 300
    assert _is_gone(_started(java)[0])


BABBLED = {
    "meteor": "METEOR answered 'NaN' where a score was due",
    "spice": "SPICE wrote no scores that can be read: KeyError(0)",
}


@pytest.mark.parametrize("metric", ["meteor", "spice"])
def test_an_answer_without_a_score_is_null_with_a_reason(java: str, metric: str) -> None:
    (scored,) = _scores(java, metric, "babbles").unfiltered.metrics.values()
    assert scored.value is None
    assert scored.reason == BABBLED[metric]


@pytest.mark.parametrize("metric", ["meteor", "spice"])
def test_without_java_the_reason_names_it(java: str, metric: str) -> None:
    jar = Path(java).parent / "scorer.jar"
    jar.touch()
    tools = Tools(meteor_jar=str(jar), spice_jar=str(jar), java="no-such-java")
    (scored,) = score_explanations(PREDICTIONS, REFERENCES, metrics=[metric], tools=tools).unfiltered.metrics.values()
    assert scored.value is None
    missing = f"{metric.upper()} needs Java, and 'no-such-java' was not found"
    assert scored.reason == f"{missing} (install a Java runtime)"


@pytest.mark.parametrize("metric", ["meteor", "spice"])
def test_a_java_that_can_not_be_started_is_null_with_the_metrics_name(java: str, metric: str) -> None:
    Path(java).write_text("#!/no/such/interpreter\n")
    (scored,) = _scores(java, metric).unfiltered.metrics.values()
    assert scored.value is None
    assert f"{metric.upper()} can't be started: No such file or directory" in scored.reason


def test_an_interrupted_run_leaves_no_program_behind(java: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupted(java)
    assert _is_gone(_started(java)[0])


def _interrupted(java: str) -> None:
    jar = Path(java).parent / "scorer.jar"
    jar.touch()
    with running("METEOR", [java, "-jar", str(jar), "-stdio"], folder=str(jar.parent), silence_s=30) as child:
        child.say("SCORE ||| a b ||| a")
        assert child.hear() == "1 1"
        raise KeyboardInterrupt


def test_a_text_can_not_break_the_protocol(java: str) -> None:
    jar = Path(java).parent / "scorer.jar"
    jar.touch()
    tools = Tools(meteor_jar=str(jar), java=java)
    said = {"1": "a ||| b\nEVAL ||| 9 9", "2": "日本 " * 30_000, "3": "\ud800"}
    references = {"1": ["a b\u2028c"], "2": ["日本"], "3": ["x"]}
    scored = score_explanations(said, references, metrics=["meteor"], tools=tools).unfiltered.metrics["METEOR"]
    assert scored.reason == ""
    assert scored.each[1] == 1


def test_bertscore_without_its_package_says_how_to_install_it(tmp_path: Path) -> None:
    if importlib.util.find_spec("bert_score"):
        pytest.skip("the package bert-score is installed")
    tools = Tools(bertscore_model=str(tmp_path))
    scores = score_explanations(PREDICTIONS, REFERENCES, metrics=["bertscore"], tools=tools)
    assert "pip install 'vqa-client[explain]'" in scores.unfiltered.metrics["BERTScore"].reason


def test_bertscore_of_a_copy_of_a_reference_is_1() -> None:
    model = os.environ.get("VQA_CLIENT_BERTSCORE_MODEL")
    if not (model and importlib.util.find_spec("bert_score")):
        pytest.skip("needs the package bert-score, and VQA_CLIENT_BERTSCORE_MODEL to name a model")
    said = {"1": REFERENCES["1"][2], "2": "", "3": PREDICTIONS["3"]}
    tools = Tools(bertscore_model=model)
    scores = score_explanations(said, REFERENCES, metrics=["bertscore"], tools=tools)
    scored = scores.unfiltered.metrics["BERTScore"]
    assert scored.each[0] == pytest.approx(1, abs=1e-4)
    assert scored.each[1] == 0
