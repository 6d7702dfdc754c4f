"""The command line: flags in, one call, text out. Only this room prints or exits.

`app` lists the commands and the module of each, which is imported when its command runs.
"""
