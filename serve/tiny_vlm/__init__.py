"""The tiny VLM: a vision-language model of two million parameters that knows coloured shapes and nothing else.

Its pictures and questions are those of the easy-VQA package, and drawings and forms of question of our own; see the
README beside this for how it was trained and what it can do.
"""
