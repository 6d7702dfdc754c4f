"""A wall clock that can jump in child processes, if there are a C compiler and preloading."""

import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
JUMPS_S = (-3600, 3600, -86_400, 86_400, -30 * 86_400, 30 * 86_400, -5, 5, 0)


class Clock:
    """`variables` are for a child's environment; `reason` says why there is no such clock, "" if there is."""

    def __init__(self, folder: Path) -> None:
        self._offset = folder / "offset"
        self.variables: dict[str, str] = {}
        self.jump(0)
        self.reason = self._built(folder / "clock.so")

    def jump(self, seconds: float) -> None:
        """Change the time of day by so much from now on, also in running processes."""
        content = struct.pack("=q", int(seconds * 1e9))
        if self._offset.exists():
            with self._offset.open("r+b") as file:
                file.write(content)
        else:
            self._offset.write_bytes(content)

    def _built(self, library: Path) -> str:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler or not sys.platform.startswith("linux"):
            return "no C compiler, or not Linux"
        command = [compiler, "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library), "-ldl"]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return "the compiler can't build a shared library"
        self.variables = {"LD_PRELOAD": str(library), "SOAK_CLOCK": str(self._offset)}
        return "" if self._works() else "preloading changes no clock"

    def _works(self) -> bool:
        self.jump(1e6)
        code = [sys.executable, "-c", "import time; print(time.time())"]
        done = subprocess.run(code, env=self.variables, capture_output=True, text=True, check=False)
        self.jump(0)
        if done.returncode == 0 and float(done.stdout) > time.time() + 9e5:
            return True
        self.variables = {}
        return False
