"""The tiny VLM: a vision-language model of two million parameters that knows coloured shapes and nothing else.

It was trained on the images and questions of the easy-VQA package, and on drawings and questions of our own; see the
README in this folder.
"""
