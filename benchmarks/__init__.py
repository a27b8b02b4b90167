"""What is timed, against whom, and what the scripts printed."""
