"""In a notebook: the public names, readable help, a report as a table and as a DataFrame."""

import pydoc
from pathlib import Path

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from tests.runs.sample import Sample


def test_tab_completion_shows_public_names_and_help_describes_each_option() -> None:
    assert dir(vqa_client) == sorted(vqa_client.__all__)
    with pytest.raises(AttributeError, match=r"^module 'vqa_client' has no attribute 'McSetings'$"):
        vqa_client.McSetings  # noqa: B018
    shown = pydoc.render_doc(vqa_client.McSettings, renderer=pydoc.plaintext)
    assert "Annotated" not in shown.partition("Method resolution order")[0]
    assert "max_workers: Requests in flight at once." in shown
    assert len(shown) < 25_000


async def test_a_report_is_a_table_of_its_numbers_and_a_frame_of_its_records(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    pandas = pytest.importorskip("pandas")
    of = Sample(tmp_path, 4)
    (report,) = await vqa_client.arun(of.settings(fault_server(oracle(of.replies())).base_url))
    shown = report._repr_html_()
    assert "<th>model</th><td>tiny-vlm</td>" in shown
    assert "100.0 % (95 % interval" in shown
    assert "not simply" not in shown
    report.summary.status_counts["empty"] = 1_002
    assert "<th>not simply right or wrong</th><td>1,002 empty</td>" in report._repr_html_()
    frame = report.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["question_id"]) == of.ids
    assert frame["parts.robust"].mean() == 1.0
    assert set(frame["groups.difficulty"]) == {"easy", "hard"}
