"""`python -m tests.bench.peers install [NAME ...]`: make the evaluators' environments, as pinned; `list` shows them.

Each has its own folder below VQA_CLIENT_PEERS, or below ~/.cache/vqa-client/peers; together they are up to
10 GB (lmms-eval brings torch). Needs Python 3.11 and the registry.
"""

import argparse
import shutil
import subprocess
import sys

from tests.bench.peers.peer import Peer
from tests.bench.peers.registry import PEERS


def install(peer: Peer) -> bool:
    """Make the environment if it is missing or unfinished; prints the reason if that fails."""
    if peer.installed:
        return True
    print(f"{peer.name}: installing into {peer.folder}", file=sys.stderr, flush=True)
    shutil.rmtree(peer.folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(peer.folder)], check=True)
    words = [peer.program("pip"), "install", "--quiet", "--requirement", str(peer.requirements)]
    if subprocess.run(words).returncode:
        print(f"{peer.name}: could not be installed", file=sys.stderr)
        return False
    shutil.copy(peer.requirements, peer.folder / "made_from.txt")
    return True


def main() -> int:
    """Install or list; returns 1 if an environment could not be made."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("action", choices=("install", "list"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PEERS)}; all without")
    chosen = parser.parse_args()
    peers = [PEERS[name] for name in chosen.names or PEERS]
    if chosen.action == "install":
        missing = [peer for peer in peers if not install(peer)]
        return int(bool(missing))
    for peer in peers:
        print(f"{peer.name} {peer.version}: {'installed' if peer.installed else 'not installed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
