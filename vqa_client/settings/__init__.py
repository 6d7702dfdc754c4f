"""Every knob once, with its help text: the command line, the Python API and the run's identity are made from these."""
