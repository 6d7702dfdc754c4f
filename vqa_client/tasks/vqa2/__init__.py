"""VQA 2.0: its declaration, its files, and the published framework's figures and reports.

The accuracy itself is in scoring/, because VQA-X and own questions use it too.
"""
