"""Several servers in one run."""
