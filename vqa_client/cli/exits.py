"""How a command ends: its exit codes, for scripts, and the signals that stop it; these give 128 and their number."""

import signal

EXIT_OK = 0
EXIT_FAILED_QUESTIONS = 1
EXIT_USAGE = 2
EXIT_SERVER = 3
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
