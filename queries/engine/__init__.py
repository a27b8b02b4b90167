"""What all views share: columns of runs, evidence, bootstrap and ranks."""
