"""Ends a server whose starter is gone: `python guard.py GRACE_S`, standard library only.

Its stdin is a pipe that only the starter holds. A line names the server's process group, a further byte says that the
server has been stopped in order; when the pipe ends without that byte, the starter was killed, and the group is ended.
"""

import os
import signal
import sys
import time
from contextlib import suppress

LOOK_S = 0.05


def signal_group(group: int, number: int) -> bool:
    """Signal a process group; whether there was any process left in it. Number 0 only asks."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
        return False
    return True


def end_group(group: int, grace_s: float) -> None:
    """SIGTERM, and SIGKILL for what is left after `grace_s`."""
    signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while signal_group(group, 0) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    signal_group(group, signal.SIGKILL)


def main() -> None:
    """Wait for the word of the starter, or for its end."""
    with suppress(KeyboardInterrupt):
        group = sys.stdin.buffer.readline()
        if group.endswith(b"\n") and not sys.stdin.buffer.read(1):
            end_group(int(group), grace_s=float(sys.argv[1]))


if __name__ == "__main__":
    main()
