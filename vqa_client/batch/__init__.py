"""Questions asked by batches: files of requests that a server answers within a day, at a lower price."""
