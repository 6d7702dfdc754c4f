"""`python -m tiny_vlm`: mlx-vlm's server with this model, until told to stop."""

import argparse
import gc
import os
import sys
from pathlib import Path

NAME = "tiny-vlm"
"""The model's folder here, and so, since mlx-vlm calls a model by its path, its name at the server."""
TOP_LOGPROBS = 20
"""Without a number here mlx-vlm takes `top_logprobs` and returns none."""


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m tiny_vlm", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is to be downloaded
    if sys.platform != "darwin":
        os.environ.setdefault("MLX_DISABLE_COMPILE", "1")  # MLX on a CPU would call a C++ compiler
    os.chdir(Path(__file__).parent)
    sys.argv = [
        *("mlx_vlm.server", "--model", NAME, "--host", given.host, "--port", str(given.port)),
        *("--top-logprobs-k", str(TOP_LOGPROBS)),
    ]
    from mlx_vlm.server.cli import main as serve

    gc.collect()
    gc.freeze()  # mlx-vlm collects after every request, which would cost more than the model does
    serve()


if __name__ == "__main__":
    main()
