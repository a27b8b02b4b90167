"""The modes of sessions, by their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.people.every_clue import EveryClue
from data.people.mode import Mode
from data.people.race import Race
from data.people.session_documents import ModeKey
from data.people.single_answers import EstimateMode, VoteMode

MODES: Mapping[ModeKey, Mode[Any]] = {mode.key: mode for mode in (EveryClue(), Race(), EstimateMode(), VoteMode())}
DEFAULT: ModeKey = "every-clue"
