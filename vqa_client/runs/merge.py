"""Merges the shards of a run: into one log, run file and report."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.client.session import named_model
from vqa_client.errors import DataError, IdentityError, UsageError
from vqa_client.log_lines import check_run, numbered
from vqa_client.records import RecordLog, is_settled
from vqa_client.reports.log_reader import LOG_ENDING, SHARD, LogReader, files_below
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.runs.plan import Plan, close_plan, identity_of_plan, run_file_for
from vqa_client.runs.plans import finish, make_plans, plans_of
from vqa_client.runs.reopened import WAY_OUT, settings_of
from vqa_client.runs.resume import SCORED_AGAIN, RunPaths, carry_over, sort_log
from vqa_client.runs.run_file import RunFile, as_lines, differing
from vqa_client.runs.varied import CORRUPTED
from vqa_client.settings.divided import Shard
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings, output_folder
from vqa_client.types import Note


class Merged(Struct, frozen=True, kw_only=True):
    """The merged runs of one command."""

    settings: RunSettings
    reports: list[Report]


class _Part(Struct, frozen=True, kw_only=True):
    """The files of a shard."""

    shard: Shard
    paths: RunPaths
    file: RunFile

    @property
    def expected(self) -> int:
        return int(self.file.described.get("expected", 0))


def merge_folder(folder: Path, *, partial: bool, tidy: bool, note: Note) -> Iterator[Merged]:
    """Merge the shards in a folder and its folders; the runs of one command are merged together.

    Raises DataError if there are no shards or their data is missing, UsageError for missing shards unless `partial`,
    IdentityError for shards of different runs.
    """
    logs = sorted(path for path in files_below(folder, LOG_ENDING) if SHARD.search(path.name))
    if not logs:
        problem = "has no shard of a run" if folder.exists() else "does not exist"
        raise DataError(f"{folder} {problem}", hint="--shard K/N writes NAME.shard-K-of-N.records.jsonl")
    commands: dict[tuple[str, Path], list[_Part]] = {}
    for whole in dict.fromkeys(log.with_name(SHARD.sub("", log.name)) for log in logs):
        for part in _parts(RunPaths.of_log(whole))[:1]:
            commands.setdefault((repr(_undivided_settings(part)), whole.parent), []).append(part)
    for first_parts in commands.values():
        yield _merge_command(first_parts, partial=partial, tidy=tidy, note=note)


def _merge_command(first_parts: Sequence[_Part], *, partial: bool, tidy: bool, note: Note) -> Merged:
    """Merge the runs of one command, given by a shard of each."""
    file, settings = first_parts[0].file, _undivided_settings(first_parts[0])
    runs = [part.paths.whole for part in first_parts]
    model = dataclasses.replace(file.model(), system_prompt=file.identity.get("system"))
    try:
        plans = [plan for config in settings.configs for plan in make_plans(settings, config, model, note)]
    except DataError as error:
        raise DataError(f"the shards in {runs[0].log.parent} need their data: {error}", hint=WAY_OUT) from None
    reports = []
    for paths in runs:
        plan = next((candidate for candidate in plans if candidate.paths.log.name == paths.log.name), None)
        if plan is None:
            raise UsageError(f"{paths.log.name} is not a run of {settings.benchmark}", hint="was it renamed?")
        here = RunPaths(paths.log.with_name(plan.paths.report.name), paths.stem)
        reports.append(merge(replace(plan, paths=here), settings, partial=partial, tidy=tidy, note=note))
    if len(reports) == len(plans):
        finish(plans, reports, {}, note)
    return Merged(settings=settings, reports=reports)


def merge_settings(settings: RunSettings, *, partial: bool, note: Note) -> list[Report]:
    """Merge the shards of the command with these settings; runs without a shard are left out."""
    plans, reports = list[Plan](), list[Report]()
    for _, of_model in plans_of(settings, note):
        plans += of_model
        divided = (plan for plan in of_model if _parts(plan.paths))
        reports += [merge(plan, settings, partial=partial, note=note) for plan in divided]
    finish(plans, reports, {}, note)
    return reports


def check_same_run(
    settings: RunSettings, shard: Shard, kept: Mapping[str, RunFile], *, done: bool, served: str
) -> None:
    """Raise IdentityError, which lists what differs, unless a shard's run files are of this command.

    `kept` has the run files by their paths below --output. A shard that is `done` has all its files and all questions.
    If the command names no model, it is the `served` one, or the one that was asked.
    """
    part = dataclasses.replace(settings, shard=str(shard), share="")
    plans = {
        str(plan.paths.run.relative_to(output_folder(settings))): (plan, model)
        for model, of_model in plans_of(part, lambda line: None)
        for plan in of_model
    }
    differences = [f"  {name} doesn't belong to this command" for name in sorted(kept.keys() - plans.keys())]
    for name, (plan, model) in plans.items():
        if (file := kept.get(name)) is None:
            differences += [f"  {name} is missing"] if done and plan.loaded.count else []
            continue
        model = named_model(settings, model, served or file.model().model_name) or file.model()
        old, now = dict(file.identity), identity_of_plan(plan, model, part)
        if done:
            old |= {key: file.described.get(key) for key in ("data_sha256", "expected")}
            now |= {"data_sha256": plan.loaded.data_sha256, "expected": plan.loaded.count}
        changed = differing(old, now)
        differences += [as_lines(changed, Path(name).name)] if changed else []
    if differences:
        raise IdentityError(
            f"the shards in {settings.share} belong to a different run:\n" + "\n".join(differences),
            hint="give another --share",
        )


def _undivided_settings(part: _Part) -> RunSettings:
    """The settings of the undivided command."""
    settings, _ = settings_of(part.file, as_given=True)
    run = part.file.described.get(CORRUPTED)
    return dataclasses.replace(settings, fresh=False, corrupted=RobustnessRun(**run) if run else None)


def merge(plan: Plan, settings: RunSettings, *, partial: bool, note: Note, tidy: bool = False) -> Report:
    """Merge the shards of a plan, and the answers of its undivided run, and write the report.

    If a question has several records, a settled one counts before a failed one, then the one of the undivided run, then
    the one of the lowest shard. The records are in the order of the data. Raises what `merge_folder` does.
    """
    parts = _parts(plan.paths)
    _check_parts(parts)
    if not partial:
        _check_whole(plan, parts)
    now = run_file_for(plan, settings, parts[0].file.model())
    now.identity = now.identity | parts[0].file.identity
    earlier = carry_over(plan.paths, now, note)
    files = [*([earlier] if earlier else ()), *(part.file for part in parts)]
    now.described = parts[0].file.described | now.described
    now.described.pop("shard", None)
    now.sessions = _sessions(now.sessions, parts)
    with RecordLog(plan.paths.log, now.identity) as log:
        now.write(plan.paths.run)
        joined = [_join(log, part.paths.log, now.identity) for part in parts]
        if twice := sum(answers for answers, _ in joined):
            note(f"{plan.title}: {count(twice)} answered twice; the first shard's answer counts")
        if scoring_changed := any(file.scoring != now.scoring for file in files):
            note(f"{plan.title}: {SCORED_AGAIN}")
        rescore = scoring_changed or any(records for _, records in joined)
        sort_log(log, plan.loaded.questions, plan.task if rescore else None)
        report = close_plan(plan, note, now, log)
    if tidy and not report.incomplete:
        for part in parts:
            part.paths.log.unlink()
            part.paths.run.unlink()
    return report


def _parts(paths: RunPaths) -> list[_Part]:
    parts = []
    for shard, files in paths.shards():
        file = RunFile.read(files.run)
        if file is None and not files.log.stat().st_size:
            continue  # it ended before its first answer
        if file is None:
            raise UsageError(
                f"{files.run} is missing, which identifies the shard's run",
                hint=f"put it back, or --shard {shard} writes it again",
            )
        if (described := file.described.get("shard")) != [*shard]:
            named = f"shard {Shard(*described)}" if described else "no shard"
            raise UsageError(f"{files.run} is of {named}", hint="was it copied or renamed?")
        parts.append(_Part(shard=shard, paths=files, file=file))
    return parts


def _check_parts(parts: Sequence[_Part]) -> None:
    """Raise IdentityError, which lists each field that differs, if two shards are of different runs or data."""
    first, *others = parts
    for part in others:
        changed = differing(first.file.identity, part.file.identity)
        data = first.file.described.get("data_sha256"), part.file.described.get("data_sha256")
        if data[0] != data[1]:
            changed["data_sha256"] = data
        if changed:
            raise IdentityError(
                f"shards {first.shard} and {part.shard} of {first.paths.whole.log.name} are of different runs:\n"
                + as_lines(changed, str(first.shard), f"in {part.shard}"),
                hint="ask one of them again with the options of the others, with --fresh",
            )


def _check_whole(plan: Plan, parts: Sequence[_Part]) -> None:
    """Raise UsageError, which lists what is missing, unless the shards of one division have all records."""
    divisions: list[str] = []
    for of in sorted({part.shard.of for part in parts}):
        by_number = {part.shard.number: part for part in parts if part.shard.of == of}
        missing = [number for number in range(1, of + 1) if number not in by_number]
        problems = [f"{_shards(missing, of)} missing"] if missing else []
        for number, part in by_number.items():
            if (asked := len(LogReader(part.paths.log))) < part.expected:
                problems.append(f"{_shards([number], of)} unfinished ({asked:,} of {count(part.expected)})")
        expected = sum(part.expected for part in by_number.values())
        if not problems and expected != plan.loaded.count:
            problems = [f"the shards of {of} have {count(expected, 'question')}, the run {plan.loaded.count:,}"]
        if not problems:
            return
        divisions.append("; ".join(problems))
    raise UsageError(
        f"{plan.title}: {'; or '.join(divisions)}",
        hint="run them with the same options, or merge what is there with --partial",
    )


def _shards(numbers: Sequence[int], of: int) -> str:
    return f"shard {numbers[0]} of {of} is" if len(numbers) == 1 else f"shards {numbered(numbers)} of {of} are"


def _join(log: RecordLog, shard: Path, identity: Mapping[str, Any]) -> tuple[int, int]:
    """Add the records of a shard that count to the log.

    Returns how many questions have different replies in both, and how many have different records: the same reply may
    have another score.
    """
    reader, replies, records = LogReader(shard), 0, 0
    check_run(shard, reader.run, identity)
    for record in reader:
        kept, settled = log.get(record.key), is_settled(record)
        if kept is None or (settled and not is_settled(kept)):
            log.append(record)
        elif settled and kept != record:
            records += 1
            replies += (kept.output, kept.latency_s) != (record.output, record.latency_s)
    return replies, records


def _sessions(kept: Sequence[dict[str, Any]], parts: Sequence[_Part]) -> list[dict[str, Any]]:
    """All starts in order of time, each once; a start of a shard names its shard."""
    by_start = {msgspec.json.encode((start.get("shard"), start.get("started"))): start for start in kept}
    for part in parts:
        for start in part.file.sessions:
            by_start[msgspec.json.encode((list(part.shard), start.get("started")))] = {
                **start,
                "shard": list(part.shard),
            }
    return sorted(by_start.values(), key=lambda start: str(start.get("started")))
