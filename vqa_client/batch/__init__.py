"""Questions asked by batches: files of requests that a server answers within a day, at a lower price.

`parts` has the files of a run and their states, `asking` their lines, `service` the server's API. The steps of one
question stay those of `runner`.
"""
