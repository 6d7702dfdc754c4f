"""The page of a run: one HTML file from its log, and the server behind `view` and `label`.

Templates, scripts and styles are beside the modules that fill them. Tables come as sections from reports/.
"""
