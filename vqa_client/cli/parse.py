"""`vqa-client parse` and `rescore`: how a reply was read, and how today's rules read and score saved replies."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp

from vqa_client.cli.streams import emit, emit_json, emit_lines
from vqa_client.cli.tables import as_text
from vqa_client.reports.log_reader import find_logs
from vqa_client.reports.names import count, cut, percent
from vqa_client.reports.sections import Section
from vqa_client.runs.reopened import Change, Reading, Rescored
from vqa_client.runs.reopened import rescore as score_again
from vqa_client.runs.why import Why, why
from vqa_client.scoring.choices.trace import ChoiceView, RuleView
from vqa_client.settings.reports import ParseSettings, RescoreSettings

SHOWN_CHARACTERS = 2_000
"""Characters of a reply that are shown from each end."""
SHOWN_DECLARATIONS = 10
SHOWN_TOKENS = 10


def parse(settings: ParseSettings) -> None:
    """Explain and print; control characters of replies are shown as codes."""
    explanation = why(settings.run, settings.explain, settings.variant)
    if settings.json:
        emit_json(explanation)
    else:
        emit_lines(*_why_lines(explanation))


def _why_lines(explanation: Why) -> Iterator[str]:
    record = explanation.record
    yield " · ".join(filter(None, (explanation.task, *record.key, explanation.log)))
    if record.system:
        yield from _block_lines("system message", record.system)
    if record.shots:
        yield f"worked examples before the question: {', '.join(record.shots)}"
    if "<image " in record.prompt:
        yield from _block_lines("prompt, with the places of its images", record.prompt)
    yield from _block_lines("reply", record.output)
    if record.reasoning:
        yield from _block_lines("reasoning, in a field of its own", record.reasoning)
    if explanation.peeled_off:
        yield "peeled off before reading:"
        yield from (f"    {_shorten(piece)}" for piece in explanation.peeled_off)
    if explanation.choice:
        yield from _choice_lines(explanation, explanation.choice)
    if record.first_token:
        yield from _first_token_lines(record.first_token, record.probabilities or {})
    reading = f"{_answer_text(record.answer)}{_rule_text(record.rule, record.rivals)}"
    yield f"in the log: {record.status.replace('_', ' ')}{reading}"
    yield from (f"    {line}" for line in explanation.why)
    parts = "".join(f", {name} {value:g}" for name, value in record.parts.items())
    yield f"    finish reason {record.finish_reason or '-'}, score {record.score:g}{parts}"
    yield f"right answer: {_join_texts(record.references)}"
    if explanation.compared_as is not None:
        yield f"compared as {explanation.compared_as!r} with {_join_texts(explanation.references_as)}"
    if explanation.parsers:
        yield "other parsers: " + ", ".join(f"{name} {answer!r}" for name, answer in explanation.parsers.items())
    yield from _today_line(explanation)


def _choice_lines(explanation: Why, view: ChoiceView) -> Iterator[str]:
    if any(explanation.choices.values()):
        yield "choices: " + "  ".join(f"{label}. {_shorten(text)}" for label, text in explanation.choices.items())
    yield from _block_lines(f"read, from the {view.source}", view.read)
    if view.cut or view.unclosed:
        cut = "the reply was cut at the token limit" if view.cut else "the reply ends inside its reasoning"
        yield f"{cut}: only an explicit declaration counts"
    if view.declared:
        yield f"declarations (the last one counts, weak ones only alone; {len(view.declared)} found):"
        for declaration in view.declared[-SHOWN_DECLARATIONS:]:
            weak = ", weak" if declaration.weak else ""
            yield f"    {_labels_text(declaration.labels)} by {declaration.rule}{weak}: ... {declaration.around} ..."
    yield "rules, in the order of reading; the first that finds something decides:"
    yield from (f"    {_rule_line(rule)}" for rule in view.rules)
    declared = {label for declaration in view.declared for label in declaration.labels}
    if others := [label for label in view.mentioned if label not in declared]:
        yield f"labels in the reply that nothing declares: {', '.join(others)}"
    if view.parsers:
        yield "parsers: " + ", ".join(
            f"{name} {letter or '-'}{_rule_text(rule, ())}" for name, (letter, rule) in view.parsers.items()
        )


def _first_token_lines(first_token: Mapping[str, float], probabilities: Mapping[str, float]) -> Iterator[str]:
    likeliest = sorted(first_token.items(), key=lambda item: -item[1])
    yield "first token, with its probability:"
    yield "    " + "  ".join(f"{token!r} {exp(logprob):.3g}" for token, logprob in likeliest[:SHOWN_TOKENS])
    yield "labels: " + ("  ".join(f"{label} {p:.3g}" for label, p in probabilities.items()) or "none among them")


def _rule_line(rule: RuleView) -> str:
    if rule.labels is None:
        return f"  {rule.name}: -"
    mark = "=>" if rule.fired else "  "
    passed = " (not for a reply that was cut, or for reasoning)" if rule.passed_over else ""
    return f"{mark}{rule.name}: {_labels_text(rule.labels)}{_rule_text(rule.how, rule.rivals)}{passed}"


def _labels_text(labels: Sequence[str]) -> str:
    return " or ".join(labels) or "declared to be none"


def _today_line(explanation: Why) -> Iterator[str]:
    record, today, score = explanation.record, explanation.today, explanation.today_score
    if explanation.unknown:
        yield f"not read again: {explanation.unknown}"
    elif today is not None and score is not None:
        same = (today.status, today.text, score.value) == (record.status, record.answer, record.score)
        read = f"{today.status}{_answer_text(today.text)}{_rule_text(today.rule, today.rivals)}, score {score.value:g}"
        yield "read again today: the same" if same else f"read again today: {read} (vqa-client rescore shows all such)"


def _answer_text(answer: str | None) -> str:
    return "" if answer is None else f", answer {_shorten(answer)!r}"


def _rule_text(rule: str, rivals: Sequence[str]) -> str:
    parts = [f"by {rule}"] if rule else []
    parts += [f"rivals {', '.join(map(_shorten, rivals))}"] if rivals else []
    return f" ({'; '.join(parts)})" if parts else ""


def _join_texts(texts: Sequence[str]) -> str:
    times = {text: texts.count(text) for text in texts[:1_000]}
    return (
        ", ".join(f"{_shorten(text)!r}" + (f" x{count}" if count > 1 else "") for text, count in times.items()) or "-"
    )


def _block_lines(title: str, text: str | None) -> Iterator[str]:
    if text is None:
        yield f"{title}: none came"
        return
    left_out = len(text) - 2 * SHOWN_CHARACTERS
    if left_out > 0:
        text = (
            f"{text[:SHOWN_CHARACTERS]}\n[... {count(left_out, 'character')} left out ...]\n{text[-SHOWN_CHARACTERS:]}"
        )
    yield f"{title}:"
    yield from (f"    {line}" for line in text.split("\n"))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 160 else f"{text[:80]} ... {text[-60:]}"


MOST_CHANGES = 20
"""Changed questions that are printed for a run; --json has all."""
MOST_CHARACTERS = 60


def rescore(settings: RescoreSettings) -> None:
    """Score each log again and print the differences."""
    done = []
    for log in find_logs(settings.run):
        done.append(score_again(log, write=settings.write))
        if not settings.json:
            emit(as_text([_changes_section(done[-1])]))
    if settings.json:
        emit_json(done)


def _changes_section(rescored: Rescored) -> Section:
    old, new = rescored.old, rescored.new
    rows = [["accuracy", percent(old.accuracy), percent(new.accuracy)]]
    names = [name for name in dict.fromkeys((*old.parts, *new.parts)) if not name.startswith("n_")]
    parts = ([name, percent(old.parts.get(name)), percent(new.parts.get(name))] for name in names)
    rows += [row for row in parts if row not in rows]  # many benchmarks call their headline accuracy
    for status in dict.fromkeys((*old.statuses, *new.statuses)):
        counts = (f"{side.statuses.get(status, 0):,}" for side in (old, new))
        rows.append([f"questions {status.replace('_', ' ')}", *counts])
    return Section(
        title=f"rescore · {rescored.task} · {rescored.log}",
        columns=["in % of all", "old", "new"],
        rows=rows,
        notes=[*map(_change_line, rescored.changes[:MOST_CHANGES]), *_remark_lines(rescored)],
    )


def _change_line(change: Change) -> str:
    name = " · ".join(filter(None, (change.question_id, change.variant)))
    key = "" if change.old.references == change.new.references else ", another right answer"
    return f"{name}: {_reading_text(change.old)} -> {_reading_text(change.new)}{key}"


def _reading_text(of: Reading) -> str:
    answer = "" if of.answer is None else f" {cut(of.answer, MOST_CHARACTERS)!r}"
    rule = f" by {of.rule}" if of.rule else ""
    return f"{of.status.replace('_', ' ')}{answer}{rule} ({of.score:g})"


def _remark_lines(rescored: Rescored) -> Iterator[str]:
    hidden = len(rescored.changes) - MOST_CHANGES
    if hidden > 0:
        yield f"and {count(hidden, 'more change')}: --json has all"
    yield f"{len(rescored.changes):,} of {count(rescored.total, 'question')} changed"
    if rescored.failed:
        yield f"{count(rescored.failed, 'question')} without a reply: nothing to read again"
    if rescored.not_in_data:
        number = len(rescored.not_in_data)
        left = f"left as {'it is:' if number == 1 else 'they are, such as'} {rescored.not_in_data[0]}"
        yield f"{count(number, 'question')} no longer in the data file, {left}"
    if rescored.scoring_old != rescored.scoring_new:
        yield f"scored by {rescored.scoring_new}, before by {rescored.scoring_old}"
    if rescored.data_changed:
        yield "the data file is another one than when the run was made or last scored"
    if rescored.written:
        yield "written into the log; the run's own command makes its report again and repeats no answered question"
    elif rescored.changes:
        yield "nothing is written: --write puts the new readings into the log"
