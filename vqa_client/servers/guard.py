"""Stop a server whose starter was killed: `python guard.py GRACE_S`, standard library only.

Only the starter has the other end of stdin, a pipe. It writes the server's process group on a line, and one more byte
once it has stopped the server itself. If the pipe closes without that byte, the guard ends the group.
"""

import os
import signal
import sys
import time
from contextlib import suppress

LOOK_S = 0.05


def signal_group(group: int, number: int) -> bool:
    """Signal a process group; False if no process of it is left. Number 0 sends nothing."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
        return False
    return True


def end_group(group: int, grace_s: float) -> None:
    """Send SIGTERM, and after `grace_s` SIGKILL to the processes that are left."""
    signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while signal_group(group, 0) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    signal_group(group, signal.SIGKILL)


def main() -> None:
    """Wait until the starter has stopped the server, or has died."""
    with suppress(KeyboardInterrupt):
        group = sys.stdin.buffer.readline()
        if group.endswith(b"\n") and not sys.stdin.buffer.read(1):
            end_group(int(group), grace_s=float(sys.argv[1]))


if __name__ == "__main__":
    main()
