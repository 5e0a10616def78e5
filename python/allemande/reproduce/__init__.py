"""Published figures, simulated again, and how far off they come out."""
