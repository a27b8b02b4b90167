"""The state of each row of responses, as a file states or implies it.

A row is a failed call if it says so (``failed`` is true, or ``state`` is failed), or if its guess is the word ERROR, in any case,
and the row does not contradict that: it states no other state, it has no distribution over options, and its correctness is 0 or
not stated. A failed call is stored without a guess, with confidence 0 and correctness 0.

A row without a confidence, token log-probabilities and distribution is an answer without confidence if it has a guess or states a
correctness. A row can also say that the answer was not parsed or that the model abstained. Such rows are stored without a
confidence. Those that were not parsed, or in which the model abstained, have correctness 0.
"""

from data.store.answer_states import STORED_STATES

FAILED_GUESS = "ERROR"  # the guess that marks a failed call in files, and in the hash that names a run
_STORED = ", ".join(f"'{state}'" for state in STORED_STATES)


def is_failed(row: str = "s") -> str:
    """Return a SQL condition: whether a row of ``responses_read``, by its alias, is a failed call."""
    marked = f"strlen({row}.guess) < 16 and lower(trim({row}.guess)) = '{FAILED_GUESS.lower()}'"
    unanswered = f"{row}.state is null and {row}.options is null and coalesce({row}.correct, 0) = 0"
    return f"(coalesce({row}.failed or {row}.state = 'failed', false) or coalesce({marked}, false) and {unanswered})"


def stored_state(row: str = "s") -> str:
    """Return SQL for the state of a row of ``responses_read`` as it is stored: one of ``STORED_STATES``, or null."""
    answers = f"{row}.guess is not null or {row}.correct is not null"
    return f"""case when {is_failed(row)} then null when {row}.state in ({_STORED}) then {row}.state
        when {row}.state is null and {lacks_confidence(row)} and ({answers}) then 'no_confidence' end"""


def lacks_confidence(row: str = "s") -> str:
    """Return a SQL condition: whether a row has nothing from which its confidence follows."""
    return f"({row}.confidence is null and {row}.token_logprobs is null and {row}.options is null)"


def states_an_answer(row: str = "s") -> str:
    """Return a SQL condition: whether a failed call nevertheless states an answer, which is left out."""
    guess = f"{row}.guess is not null and lower(trim({row}.guess)) <> '{FAILED_GUESS.lower()}'"
    stated = f"{guess} or {row}.token_logprobs is not null or {row}.options is not null"
    return f"({stated} or coalesce({row}.confidence, 0) <> 0 or coalesce({row}.correct, 0) <> 0)"


def contradicts_its_state(row: str = "s") -> str:
    """Return a SQL condition: whether a row with a state states a confidence, or a correctness that the state rules out."""
    confident = f"{row}.state in ({_STORED}) and not {lacks_confidence(row)}"
    right = f"{row}.state in ('unparsed', 'abstained') and coalesce({row}.correct, 0) <> 0"
    return f"({confident} or {right})"
