"""The modes of sessions, by their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.play_sessions.every_clue import EveryClue
from data.play_sessions.mode_interface import Mode
from data.play_sessions.race_of_one_player import Race
from data.play_sessions.session_definition import ModeKey
from data.play_sessions.single_answers import EstimateMode, VoteMode

MODES: Mapping[ModeKey, Mode[Any]] = {mode.key: mode for mode in (EveryClue(), Race(), EstimateMode(), VoteMode())}
DEFAULT: ModeKey = "every-clue"
