"""Other ways for an image than its bytes in every request."""
