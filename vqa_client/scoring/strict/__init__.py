"""Whether a reply gives a needle as its answer: as a whole word or number, meant and not denied."""
