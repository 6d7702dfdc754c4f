"""The page of a run: one HTML file made from its log, and the server of `view` and `label`.

Templates, scripts and styles are beside the modules that fill them. Tables are sections from reports/.
"""
