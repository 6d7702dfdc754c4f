"""The exit codes, for scripts that call the commands; a signal gives 128 and its number."""

EXIT_OK = 0
EXIT_FAILED_QUESTIONS = 1
EXIT_USAGE = 2
EXIT_SERVER = 3
