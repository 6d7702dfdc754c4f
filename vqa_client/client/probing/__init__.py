"""Small requests that show what a server does, before a run or during it."""
