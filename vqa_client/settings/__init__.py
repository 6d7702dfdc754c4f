"""Every setting, once with its help text: the command line, the Python API and a run's identity are made from these."""
