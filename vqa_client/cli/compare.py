"""`vqa-client compare` and `leaderboard`: finished runs compared in pairs, and all in one table."""

from importlib.util import find_spec
from pathlib import Path

import msgspec

from vqa_client.aggregates import Estimate
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json, say
from vqa_client.cli.tables import as_text
from vqa_client.compare.leaderboard import Cell, Leaderboard, write_board_page
from vqa_client.compare.leaderboard import leaderboard as read_runs
from vqa_client.compare.sections import sections
from vqa_client.compare.write import PAGE_NAME, compare_runs, content, write_comparison
from vqa_client.files import write_json
from vqa_client.reports.names import figure_text
from vqa_client.reports.sections import Section
from vqa_client.settings.reports import CompareSettings, LeaderboardSettings
from vqa_client.shipped import install


def compare(settings: CompareSettings) -> int:
    """Compare, write and print; the exit code is 1 if questions have no reply, which count as wrong."""
    sides, compared = compare_runs(settings.runs)
    paths: tuple[Path, ...] = ()
    if settings.output:
        paths = write_comparison(
            settings.output, sides, compared, html_images=settings.html_images, csv_safe=settings.csv_safe
        )
        if PAGE_NAME not in {path.name for path in paths}:
            say(f"without {PAGE_NAME}: {install('html')} adds it")
    if settings.json:
        emit_json(content(sides, compared))
    else:
        emit(as_text(sections(compared, list(map(str, paths)))))
    failed = any(not kept.answered for _, matched in compared for pair in matched.pairs for kept in (pair.a, pair.b))
    return EXIT_FAILED_QUESTIONS if failed else EXIT_OK


NAME = "leaderboard"


def leaderboard(settings: LeaderboardSettings) -> None:
    """Read the runs, print the table, and write it if a folder is given."""
    board = read_runs(settings.runs)
    if settings.json:
        emit_json(msgspec.to_builtins(board, enc_hook=str))
    else:
        emit(as_table(board))
    if settings.output:
        write_board(settings.output, board)


def write_board(folder: Path, board: Leaderboard, title: str = "Leaderboard", *, html: bool = True) -> None:
    """Write leaderboard.json, and the page if the extra html is installed; raises NotOurs for foreign files."""
    write_json(folder / f"{NAME}.json", msgspec.to_builtins(board, enc_hook=str), rb'\{\n  "models": ')
    if html and find_spec("jinja2") is not None:
        write_board_page(folder / f"{NAME}.html", board, title)
        say(f"page: {folder / NAME}.html")


def as_table(board: Leaderboard) -> str:
    """Two rows per benchmark and a column per model, with the notes below."""
    what = "headline in %, 95 % interval, n; questions without a reply count as wrong"
    same = "models share a rank unless a test over the same questions separates them (Holm-adjusted p below 0.05)"
    rows = []
    for column in board.columns:
        cells = [column.cells.get(model) for model in board.models]
        rows += [[column.title, *map(_figure, cells)], [f"  {column.measure}", *map(_counts_and_rank, cells)]]
    if board.means:
        means = (f"{100 * board.means[model]:.1f}" for model in board.models)
        rows.append([f"mean of the {board.in_mean} that all have", *means])
    titles: dict[str, list[str]] = {}
    for column in board.columns:
        for note in column.notes:
            titles.setdefault(note, []).append(column.title)
    notes = [f"{', '.join(of)}: {note}" for note, of in titles.items()]
    notes += [f"left out: {reason}" for reason in board.left_out]
    return as_text([Section(notes=[what, same]), Section(columns=["benchmark", *board.models], rows=rows, notes=notes)])


def _figure(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return figure_text(Estimate(value=cell.value, low=cell.low, high=cell.high), 100.0 if cell.most == 1 else 1.0)


def _counts_and_rank(cell: Cell | None) -> str:
    return ", ".join(filter(None, (cell.counts, cell.rank))) if cell else ""
