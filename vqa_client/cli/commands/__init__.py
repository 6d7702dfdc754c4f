"""The commands, each importing what it runs when it is called."""

HELP_FLAGS = frozenset({"--help", "-h"})
