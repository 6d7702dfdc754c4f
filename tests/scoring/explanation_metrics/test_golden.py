"""The published scorer's scores of 200 real explanations; the files may be absent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.scoring.explanation_metrics.samples import score_explanations
from vqa_client.scoring.explanation_metrics import evil

HANDED = Path(__file__).parents[4] / "shared/data/seed001_nle"
GOLDEN, RAW = HANDED / "nlg_golden_200.json", HANDED / "VQA-X/vqaX_test.json"
pytestmark = pytest.mark.skipif(not (GOLDEN.exists() and RAW.exists()), reason="the handed files are not here")
CORE = ("Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "CIDEr")


def _golden() -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(GOLDEN.read_bytes())
    return golden


def _simple_tokens(text: str) -> list[str]:
    """The tokens behind the published scores of single questions: words in lower case; "isn't" is one word."""
    return re.findall(r"[^\W_]+(?:'[^\W\d_]+)?", text.lower().replace("’", "'"))


def _scores() -> evil.ExplanationScores:
    """The first human explanation against the others, from the original texts."""
    raw = json.loads(RAW.read_bytes())
    texts = {str(record["question_id"]): raw[str(record["question_id"])] for record in _golden()["records"]}
    said = {question_id: record["explanation"][0] for question_id, record in texts.items()}
    references = {question_id: record["explanation"][1:] for question_id, record in texts.items()}
    return score_explanations(said, references)


@pytest.mark.parametrize("name", CORE)
def test_a_corpus_scores_as_published(name: str) -> None:
    published = _golden()["corpus_with_PTBTokenizer"][name]
    assert _scores().unfiltered.metrics[name].value == pytest.approx(published, abs=1e-9)


@pytest.mark.parametrize("name", CORE)
def test_a_corpus_and_its_questions_score_as_published_with_simple_tokens(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(evil, "ptb_tokens", _simple_tokens)
    mine = _scores().unfiltered.metrics[name]
    assert mine.value == pytest.approx(_golden()["corpus"][name], abs=1e-9)
    theirs = {str(record["question_id"]): record[name] for record in _golden()["records"] if name in record}
    assert not theirs or mine.each == pytest.approx([theirs[id] for id in sorted(theirs)], abs=1e-9)
