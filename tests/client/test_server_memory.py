import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client.watching.server_memory import memory_bytes

WIRE = Path(__file__).parents[3] / "shared/data/wire"
PROMETHEUS = b"""# HELP process_resident_memory_bytes Resident memory size in bytes.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1.5e+09
process_virtual_memory_bytes 9e+09
vllm:num_requests_running{model_name="m"} 0.0
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PROMETHEUS, 1_500_000_000),
        (b'process_resident_memory_bytes{pid="1"} 100\nprocess_resident_memory_bytes{pid="2"} 50\n', 150),
        (b'{"status": "ok", "memory": {"rss_bytes": 4096}}', 4096),
        (b'{"rss_mb": 2}', 2 << 20),
        (b'{"memory_mb": 3}', 3 << 20),
        (b'{"memory_gb": 2}', 2 << 30),
        (b'{"rss_gb": 1}', 1 << 30),
        *((b'{"%b": 77}' % name, 77) for name in (b"process_resident_memory_bytes", b"resident_memory_bytes")),
        *((b'{"%b": 77}' % name, 77) for name in (b"memory_bytes", b"rss_bytes", b"memory_rss_bytes")),
        (b'{"latest": {"peak_memory_gb": 0.009}}', None),
        (b'{"status": "ok"}', None),
        (b"process_virtual_memory_bytes 9e+09\n", None),
        (b"process_resident_memory_bytes NaN\n", None),
        (b'{"rss_bytes": null}', None),
        (b'{"rss_bytes": -1}', None),
        (b"[1, 2]", None),
        (b"", None),
        (b"<html>502</html>", None),
    ],
)
def test_only_the_memory_of_the_process_is_read(body: bytes, expected: int | None) -> None:
    assert memory_bytes(body) == expected


@given(st.binary(max_size=80))
def test_any_reply_is_read_without_an_error(body: bytes) -> None:
    assert memory_bytes(body) is None or isinstance(memory_bytes(body), int)


@pytest.mark.parametrize("name", ["mlx-vlm/root_metrics", "mlx-vlm/root_health", "llamacpp/root_metrics"])
def test_the_memory_of_servers_that_do_not_report_it_is_unknown(name: str) -> None:
    path = WIRE / f"{name}.json"
    if not path.is_file():
        pytest.skip("the recorded answers are not here")
    assert memory_bytes(json.dumps(json.loads(path.read_text())["response"]["body"]).encode()) is None
