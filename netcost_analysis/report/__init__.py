"""Reports and write-ups: notebooks executed on a capture, comparisons and digests."""
