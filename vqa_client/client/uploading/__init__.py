"""Ways to send an image other than its bytes in every request: by the address of a file, or by a name.

`choose` finds out before a run what a server takes; `uploads` sends by it, and falls back to bytes.
"""
