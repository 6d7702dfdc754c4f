"""Small requests that show what a server does, before a run or during it.

`asks` sends them; the other modules know what the replies mean. Nothing here belongs to a benchmark's question.
"""
