"""All settings with their help: the command line, the Python API and a run's identity are made from these.

A bound, a former name and what an option decides are in its field's annotation; `validation` checks them.
"""
