"""A comparison in one sentence that a reader may quote, and its numbers as people write them."""

from vqa_client.compare.figures import Comparison
from vqa_client.reports.logged_run import variant_words
from vqa_client.reports.names import percent


def sentence(of: Comparison) -> str:
    """Who is better, by how much and how surely; where no difference is shown, how large a one would have been."""
    a, b = of.accuracy_a.value, of.accuracy_b.value
    over = f"over the same {_questions(of)}{of_variant(of)}"
    scores = f"{of.b} scores {percent(b)} % and {of.a} {percent(a)} % in {of.measure}"
    between = of.difference
    gap = f"{points(between.value)} points (95 % interval {points(between.low)} to {points(between.high)}; {_test(of)})"
    if of.shown:
        return f"{of.b} is {'better' if between.value > 0 else 'worse'} than {of.a}: {over} {scores}, {gap}."
    least = of.minimum_detectable
    missed = f" This run can reliably detect only differences above {100 * least:.1f} points." if least else ""
    return f"No significant difference between {of.b} and {of.a}: {over} {scores}, {gap}.{missed}"


def of_variant(of: Comparison) -> str:
    """Of which variant the figures are, "" where there is one only; commas set it off in a sentence."""
    if of.variant is None:
        return ""
    return f", {variant_words(of.variant)} ({len(of.variants)} variants in the table),"


def points(value: float) -> str:
    """A difference of shares in points of per cent, with its sign."""
    shown = f"{100 * value:+.1f}"
    return "0.0" if shown in ("+0.0", "-0.0") else shown


def p_text(p: float) -> str:
    """A p value as papers print it: "p = 0.021", "p < 0.001"."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.995 else "p = 1"


def sign_flip_in_words(of: Comparison) -> str:
    """What the p of the headline means."""
    return f"how often a random sign for each {of.unit}'s difference gives a total as large"


def independence(of: Comparison) -> str:
    """What McNemar's test assumes, and whether that is so."""
    return "takes questions as independent" + (f", but some share {of.unit}s" if of.clusters < of.n else "")


def _questions(of: Comparison) -> str:
    if of.clusters == of.n:
        return f"{of.n:,} {of.task} question{'s' * (of.n != 1)}"
    units = f"{of.clusters:,} {of.unit}{'s' * (of.clusters != 1)}"
    return f"{of.n:,} {of.task} questions on {units}"


def _test(of: Comparison) -> str:
    several = "" if of.p_holm == of.p else ", Holm"
    return f"{of.p_method}{several}, {p_text(of.p_holm)}"
