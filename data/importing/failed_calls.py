"""Failed calls: rows of responses for which the model gave no answer.

A row is a failed call if it says so (``failed`` is true), or if its guess is the word ERROR, in any case, and the row does not
contradict that: it has no distribution over options, and its correctness is 0 or not stated. A failed call is stored without a
guess, with confidence 0 and correctness 0.
"""

FAILED_GUESS = "ERROR"  # the guess that marks a failed call in files, and in the hash that names a run


def is_failed(row: str = "s") -> str:
    """Return a SQL condition: whether a row of ``responses_read`` is a failed call.

    Args:
        row: alias of the relation.
    """
    marked = f"strlen({row}.guess) < 16 and lower(trim({row}.guess)) = '{FAILED_GUESS.lower()}'"
    unanswered = f"{row}.options is null and coalesce({row}.correct, 0) = 0"
    return f"(coalesce({row}.failed, false) or coalesce({marked}, false) and {unanswered})"


def states_an_answer(row: str = "s") -> str:
    """Return a SQL condition: whether a failed call nevertheless states an answer, which is left out."""
    guess = f"{row}.guess is not null and lower(trim({row}.guess)) <> '{FAILED_GUESS.lower()}'"
    stated = f"{guess} or {row}.token_logprobs is not null or {row}.options is not null"
    return f"({stated} or coalesce({row}.confidence, 0) <> 0 or coalesce({row}.correct, 0) <> 0)"
