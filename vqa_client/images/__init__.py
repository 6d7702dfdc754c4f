"""Image files: which belong to a question, what they really are, and the bytes that are sent.

`prepare` is what a run calls; `facts` and `headers` read a file without decoding it, `recode` and `steps` change one.
"""
