"""What the store holds and how it gets there: readers, contract, grading, statistics, store."""
