"""How often the tests notice that one line of the library was changed: `python -m tests.mutants`."""
