"""Failed calls: rows of responses for which no answer was got.

A row is a failed call if it says so (``failed`` is true), or if its guess is the word ERROR, in any case, and nothing in the row
speaks against that: it gives no whole distribution and is not stated to be correct. A failed call is stored without a guess, with
confidence 0 and correctness 0.
"""

MARK = "ERROR"  # the guess that stands for a failed call in files, and in the hash that names a run


def is_failed(row: str = "s") -> str:
    """SQL condition: whether a row of ``responses_read`` is a failed call.

    Args:
        row: name of the row.
    """
    marked = f"strlen({row}.guess) < 16 and lower(trim({row}.guess)) = '{MARK.lower()}'"
    unanswered = f"{row}.options is null and coalesce({row}.correct, 0) = 0"
    return f"(coalesce({row}.failed, false) or coalesce({marked}, false) and {unanswered})"


def answers_anyway(row: str = "s") -> str:
    """SQL condition: whether a failed call states an answer beside ``failed``, which is left out."""
    guess = f"{row}.guess is not null and lower(trim({row}.guess)) <> '{MARK.lower()}'"
    stated = f"{guess} or {row}.token_logprobs is not null or {row}.options is not null"
    return f"({stated} or coalesce({row}.confidence, 0) <> 0 or coalesce({row}.correct, 0) <> 0)"
