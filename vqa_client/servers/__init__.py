"""Servers as child processes: vLLM, mlx-vlm, the tiny model and the page reader.

Each is one module with its command and how to know that it is ready.
"""
