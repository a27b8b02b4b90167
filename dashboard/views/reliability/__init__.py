"""What each run's confidence is worth."""
