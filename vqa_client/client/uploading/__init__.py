"""Ways to send an image other than its bytes in every request."""
