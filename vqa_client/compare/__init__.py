"""Two or more runs over the same questions: what differs, how surely, and on which questions."""
