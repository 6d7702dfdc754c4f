"""The scores of 200 real explanations, as the published scorer gave them; the files may be absent."""

import json
from pathlib import Path
from typing import Any

import pytest

from vqa_client.scoring.explanation_metrics.evil import ExplanationScores, Tokens, score_explanations

HANDED = Path(__file__).parents[4] / "shared/data/seed001_nle"
GOLDEN, RAW = HANDED / "nlg_golden_200.json", HANDED / "VQA-X/vqaX_test.json"
pytestmark = pytest.mark.skipif(not (GOLDEN.exists() and RAW.exists()), reason="the handed files are not here")
CORE = ("Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "ROUGE_L", "CIDEr")


def _golden() -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(GOLDEN.read_bytes())
    return golden


def _scores(tokens: Tokens) -> ExplanationScores:
    """The first human explanation against the others, from the texts as people wrote them."""
    raw = json.loads(RAW.read_bytes())
    texts = {str(record["question_id"]): raw[str(record["question_id"])] for record in _golden()["records"]}
    said = {question_id: record["explanation"][0] for question_id, record in texts.items()}
    references = {question_id: record["explanation"][1:] for question_id, record in texts.items()}
    return score_explanations(said, references, tokens=tokens)


@pytest.mark.parametrize(("tokens", "key"), [("simple", "corpus"), ("ptb", "corpus_with_PTBTokenizer")])
@pytest.mark.parametrize("name", CORE)
def test_a_corpus_scores_as_published(tokens: Tokens, key: str, name: str) -> None:
    assert _scores(tokens).unfiltered.metrics[name].value == pytest.approx(_golden()[key][name], abs=1e-9)


@pytest.mark.parametrize("name", ["Bleu_1", "Bleu_4", "ROUGE_L", "CIDEr"])
def test_each_question_scores_as_published(name: str) -> None:
    mine = _scores("simple").unfiltered.metrics[name].per_question
    theirs = {str(record["question_id"]): record[name] for record in _golden()["records"]}
    assert mine == pytest.approx(theirs, abs=1e-9)
