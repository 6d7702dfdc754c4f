"""Servers as child processes: vLLM, mlx-vlm, the tiny model and the page reader.

Each module contains a server's command and the test that it is ready.
"""
