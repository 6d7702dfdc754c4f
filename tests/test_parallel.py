import functools
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from tests.jobs import (
    die,
    fail_at,
    fail_early,
    fail_oddly,
    leave,
    len_of,
    sleep_for,
    slow_first,
    squared,
    stubborn,
    tidies,
    unpicklable,
)
from vqa_client.cpus import usable_cpus
from vqa_client.errors import DataError, VqaClientError
from vqa_client.parallel import Processes, in_processes

ROOT = Path(__file__).parent.parent


def big(job: int) -> bytes:
    return bytes([job % 256]) * 3_000_000


def counted(total: int, taken: list[int]) -> Iterator[int]:
    for number in range(total):
        taken.append(number)
        yield number


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_come_in_the_order_of_the_jobs_from_other_processes() -> None:
    results = list(in_processes(slow_first, range(12), workers=2))
    assert [number for number, _ in results] == list(range(12))
    assert len({pid for _, pid in results}) == 2
    assert os.getpid() not in {pid for _, pid in results}


def test_one_worker_is_this_process() -> None:
    assert list(in_processes(slow_first, [5, 6], workers=1)) == [(5, os.getpid()), (6, os.getpid())]


@pytest.mark.parametrize("workers", [1, 2])
def test_no_jobs_give_no_results(workers: int) -> None:
    assert list(in_processes(squared, [], workers=workers)) == []


def test_jobs_are_taken_only_a_few_ahead() -> None:
    taken: list[int] = []
    results = in_processes(squared, counted(1_000_000, taken), workers=2)
    assert [next(results) for _ in range(5)] == [0, 1, 4, 9, 16]
    results.close()
    assert len(taken) <= 5 + 2 * 4


def test_results_and_jobs_larger_than_a_pipe_pass() -> None:
    sizes = [len(result) for result in in_processes(len_of, (big(n) for n in range(4)), workers=2)]
    assert sizes == [3_000_000] * 4


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_in_a_job_is_raised_whole(workers: int) -> None:
    with pytest.raises(DataError, match="job 4 is bad") as raised:
        list(in_processes(functools.partial(fail_at, 4), range(100), workers=workers))
    assert raised.value.hint == "mend it"
    assert workers == 1 or raised.value.__notes__[0].startswith("In a worker process:\n")


def test_the_first_jobs_exception_is_raised_though_a_later_one_failed_before() -> None:
    results = in_processes(fail_early, range(9), workers=2)
    assert next(results) == 0
    with pytest.raises(DataError, match="job 1 is bad"):
        next(results)


def test_an_exception_that_does_not_pickle_still_names_its_cause() -> None:
    with pytest.raises(RuntimeError, match="job 0 took too long"):
        list(in_processes(fail_oddly, range(4), workers=2))


def test_a_result_that_does_not_pickle_is_an_error_and_no_hang() -> None:
    with pytest.raises((AttributeError, TypeError, RuntimeError), match="pickle"):
        list(in_processes(unpicklable, range(4), workers=2))


def test_a_worker_killed_by_the_system_is_named_with_its_job() -> None:
    with pytest.raises(VqaClientError, match=r"worker process was killed by SIGKILL at 3") as raised:
        list(in_processes(die, range(50), workers=2))
    assert raised.value.hint == (
        "SIGKILL mostly means that memory ran out: use fewer of them. Otherwise look at that job"
    )
    with pytest.raises(VqaClientError, match=r"^a worker process ended with code 7 at 0$"):
        list(in_processes(leave, range(2), workers=2))


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import operator
            from vqa_client.parallel import in_processes
            print(list(in_processes(operator.neg, [1, 2, 3], workers=2)), __file__)
        """)
    )
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == (f"[-1, -2, -3] {script}\n", "")


def test_one_job_needs_no_process() -> None:
    assert [pid for _, pid in in_processes(slow_first, [1], workers=2)] == [os.getpid()]


def test_closing_the_iterator_ends_the_workers() -> None:
    results = in_processes(slow_first, range(100), workers=2)
    pids = {next(results)[1] for _ in range(20)}
    results.close()
    assert not any(alive(pid) for pid in pids)


def test_ctrl_c_ends_all_at_once_without_orphans_or_a_traceback_storm(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import functools, sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        from tests.jobs import note_and_wait
        from vqa_client.parallel import in_processes

        if __name__ == "__main__":
            try:
                list(in_processes(functools.partial(note_and_wait, Path(sys.argv[2])), range(9), workers=2))
            except KeyboardInterrupt:
                print("stopped", file=sys.stderr)
                sys.exit(130)
        """)
    )
    noted = tmp_path / "noted"
    noted.mkdir()
    command = [sys.executable, "-W", "error", str(script), str(ROOT), str(noted)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        try:
            until_s = time.monotonic() + 120
            while len(list(noted.iterdir())) < 2 and time.monotonic() < until_s:
                time.sleep(0.02)
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the parent and its children
            _, complaint = run.communicate(timeout=60)
        finally:
            run.kill()
    assert (run.returncode, complaint) == (130, "stopped\n")
    assert not any(alive(int(path.name)) for path in noted.iterdir())


def test_there_is_at_least_one_processor() -> None:
    assert usable_cpus() >= 1


def test_closing_in_the_middle_of_jobs_raises_nothing_and_ends_all() -> None:
    for _ in range(3):
        processes = Processes(sleep_for, 2)
        jobs = [processes.submit(300.0) for _ in range(4)]
        while len(processes._workers) < 2:
            time.sleep(0.01)
        processes.close()
        for job in jobs:
            assert job.cancelled() or isinstance(job.exception(timeout=60), VqaClientError | CancelledError)


@pytest.mark.parametrize(("work", "tidied"), [(tidies, 2), (stubborn, 0)])
def test_closing_leaves_each_a_moment_to_tidy_up_and_then_kills(
    work: Callable[[Path, int], int], tidied: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.parallel._FAREWELL_S", 1.0 if tidied == 0 else 120.0)
    processes = Processes(functools.partial(work, tmp_path), 2)
    for job in (1, 2):
        processes.submit(job)
    until_s = time.monotonic() + 120
    while len(list(tmp_path.glob("begun *"))) < 2 and time.monotonic() < until_s:
        time.sleep(0.01)
    pids = [worker.process.pid for worker in processes._workers]
    started_s = time.monotonic()
    processes.close()
    assert time.monotonic() - started_s < 60
    assert len(list(tmp_path.glob("tidied *"))) == tidied
    assert not any(alive(pid) for pid in pids if pid)


def test_many_processes_that_start_at_once_leave_the_main_module_as_it_was() -> None:
    main = sys.modules["__main__"]
    before = main.__spec__, main.__dict__.get("__file__")
    processes = Processes(sleep_for, 4)
    assert [job.result(timeout=120) for job in [processes.submit(0.2) for _ in range(4)]] == [0.2] * 4
    processes.close()
    assert (main.__spec__, main.__dict__.get("__file__")) == before
