"""Which choice a reply gives: from its words, as published, by its logprobs or as the server enforced it."""
