"""One question, clue by clue."""
