"""How many answers of a selection are in each state, for citations."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from data.store.answer_states import OTHER_STATES, State
from queries.engine.selected_answers import counts_by_run, state_counts
from queries.selection import Selection


class StatesOfAnswers(msgspec.Struct):
    """Number of responses that are no answers with a confidence, by state; states without any are absent."""

    counts: dict[State, int]


def states_of_answers(snapshot: Snapshot, selection: Selection) -> StatesOfAnswers:
    """Count the responses of a selection's runs that are no answers with a confidence."""
    by_run = counts_by_run(state_counts(snapshot, selection)).values()
    counts = {state: sum(states[state] for states in by_run) for state in OTHER_STATES}
    return StatesOfAnswers({state: count for state, count in counts.items() if count})
