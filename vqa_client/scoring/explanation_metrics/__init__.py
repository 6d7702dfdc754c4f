"""Scores of explanations against those of people: BLEU, ROUGE-L and CIDEr computed here, others by outside programs.

`evil` puts them together in e-ViL's scopes.
"""
