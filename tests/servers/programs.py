"""Small programs with the names of model servers, which the tests put on the PATH."""

import stat
import sys
from pathlib import Path

SERVES = """
import http.server, os, sys

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_DELETE(self):
        print("engine died", flush=True)
        os._exit(9)

    def log_message(self, *words):
        pass

given = sys.argv
print("called with", given[1:], flush=True)
where = given[given.index("--host") + 1], int(given[given.index("--port") + 1])
http.server.ThreadingHTTPServer(where, Answers).serve_forever()
"""
DIES = "import sys; print('loading the weights'); sys.exit('CUDA out of memory')"
NEVER_READY = "import os, time; print('loading shard 1 of 9 as', os.getpid(), flush=True); time.sleep(60)"


def program(folder: Path, name: str, code: str) -> Path:
    """A shell script of that name that runs Python code, as installed servers are."""
    folder.mkdir(exist_ok=True)
    source = folder / f"{name}.code.py"
    source.write_text(code)
    script = folder / name
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {source} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder
