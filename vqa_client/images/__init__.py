"""Image files: which belong to a question, what they really are, and the bytes that are sent."""
