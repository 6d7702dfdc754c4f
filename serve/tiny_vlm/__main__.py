"""`python -m tiny_vlm`: run mlx-vlm's server with this model until stopped."""

import argparse
import gc
import os
import sys
from pathlib import Path

NAME = "tiny-vlm"
"""The model's folder, and its name at the server, because mlx-vlm names a model by its path."""
TOP_LOGPROBS = 20
"""Without this setting mlx-vlm accepts `top_logprobs` but returns none."""


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m tiny_vlm", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing may be downloaded
    if sys.platform != "darwin":
        os.environ.setdefault("MLX_DISABLE_COMPILE", "1")  # MLX on a CPU would call a C++ compiler
    os.chdir(Path(__file__).parent)
    sys.argv = [
        *("mlx_vlm.server", "--model", NAME, "--host", given.host, "--port", str(given.port)),
        *("--top-logprobs-k", str(TOP_LOGPROBS)),
    ]
    from mlx_vlm.server.cli import main as serve

    gc.collect()
    gc.freeze()  # mlx-vlm collects garbage after every request, which takes longer than the model
    serve()


if __name__ == "__main__":
    main()
