"""The benchmarks with a command of their own."""

from vqa_client.settings.own_commands import ExplainSettings, McSettings, NiahSettings, Vqa2Settings
from vqa_client.settings.run import RunSettings

_NIAH, _VQA2, _EXPLAIN = NiahSettings(), Vqa2Settings(), ExplainSettings()


def mc(settings: McSettings) -> int:
    """Ask LongBench-v2's questions."""
    return _evaluate(settings)


def niah(settings: NiahSettings = _NIAH) -> int:
    """Ask for needles."""
    return _evaluate(settings)


def vqa2(settings: Vqa2Settings = _VQA2) -> int:
    """Ask VQA 2.0."""
    return _evaluate(settings)


def explain(settings: ExplainSettings = _EXPLAIN) -> int:
    """Ask for answers with explanations."""
    return _evaluate(settings)


def _evaluate(settings: RunSettings) -> int:
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)
