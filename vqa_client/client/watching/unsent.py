"""How many of this process's sockets hold bytes that the other side has not taken yet."""

import os
import stat
import sys
from pathlib import Path

DESCRIPTORS = Path("/proc/self/fd")

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ

    def unsent_sockets() -> int | None:
        """Count them, in some 2 us a descriptor; None where the system doesn't tell.

        A request is on its way until the server's machine has acknowledged its last byte: what a socket has taken is
        not sent yet, since the system holds megabytes itself. Linux alone answers TIOCOUTQ for sockets (tcp(7)).
        """
        try:
            return sum(_holds_bytes(int(name)) for name in os.listdir(DESCRIPTORS))
        except OSError:
            return None

    def _holds_bytes(descriptor: int) -> bool:
        try:
            return stat.S_ISSOCK(os.fstat(descriptor).st_mode) and any(ioctl(descriptor, TIOCOUTQ, bytes(4)))
        except OSError:  # closed meanwhile, or a kind of socket that has no such queue
            return False

else:

    def unsent_sockets() -> int | None:
        """None: only Linux tells."""
        return None
