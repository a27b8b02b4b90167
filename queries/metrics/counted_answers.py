"""Which answers a metric counts, by their state."""

from __future__ import annotations

import msgspec

from clueline.data.store.answer_states import State


class CountedAnswers(msgspec.Struct, frozen=True):
    """Which answers are the items of a metric.

    Items are in ``states``. Where one has no confidence, the metric does not use it; an abstention has confidence 0. An answer in
    ``shared`` counts when runs are measured on the clues that all of them answered, in ``answering`` when it is decided whether a
    run takes part. ``with_failed`` says whether failed calls count, too, if the selection counts them as wrong. With
    ``attempts``, items are right where the model attempted an answer, whatever it was.
    """

    states: tuple[State, ...]
    shared: tuple[State, ...]
    answering: tuple[State, ...]
    with_failed: bool
    attempts: bool = False

    @property
    def need_confidence(self) -> bool:
        """Whether only answers with a confidence, or a score, count as answers."""
        return "no_confidence" not in self.answering

    def without_scored(self) -> CountedAnswers:
        """Return the same for runs without scored answers."""
        changes = {name: getattr(self, name) for name in ("states", "shared", "answering")}
        unscored = {name: tuple(state for state in states if state != "scored") for name, states in changes.items()}
        return msgspec.structs.replace(self, **unscored)

    def including_failed(self) -> CountedAnswers:
        """Return the same for a selection that counts failed calls as wrong."""
        if not self.with_failed:
            return self
        states = (*self.states, "failed") if self.states == self.shared else self.states
        return msgspec.structs.replace(
            self, states=states, shared=(*self.shared, "failed"), answering=(*self.answering, "failed"), with_failed=False
        )


_ASKED: tuple[State, ...] = ("answered", "scored", "no_confidence", "unparsed", "abstained")
_ATTEMPTED: tuple[State, ...] = ("answered", "scored", "no_confidence", "unparsed")
CONFIDENT = CountedAnswers(("answered",), ("answered",), ("answered",), with_failed=False)
_ORDERED: tuple[State, ...] = ("answered", "scored")
ORDERED = CountedAnswers(_ORDERED, _ORDERED, _ORDERED, with_failed=False)  # of metrics for which only the order counts
ASKED = CountedAnswers(_ASKED, _ASKED, _ATTEMPTED, with_failed=True)
ATTEMPTS = CountedAnswers(_ASKED, _ASKED, _ATTEMPTED, with_failed=True, attempts=True)
ATTEMPTED = CountedAnswers(_ATTEMPTED, _ASKED, _ATTEMPTED, with_failed=True)
DECIDED = CountedAnswers(("answered", "abstained"), ("answered", "abstained"), ("answered",), with_failed=True)
BUZZED = CountedAnswers(("answered",), ("answered",), ("answered",), with_failed=True)
