"""All settings with their help: the command line, the Python API and a run's identity are made from these."""
