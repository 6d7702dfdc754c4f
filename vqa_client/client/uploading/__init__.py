"""Ways to send an image other than its bytes in every request: by the address of a file, or by a name."""
