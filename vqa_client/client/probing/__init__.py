"""Small questions that show what a server does, for all who need to know before a run or within it."""
