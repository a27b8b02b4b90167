"""SQLite databases of buzzpoints: the questions of quizbowl tournaments, and where teams buzzed.

Tournaments have rounds, rounds have games, and each round has a packet of a question set. Older files give a packet's questions
in ``tossup`` itself, newer ones in ``packet_question``. Question sets can have editions, which share questions, so one question
can have several tossups, each an edited version of it. Each tossup becomes a question here.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.quizbowl.question_words import count_words, plain_text
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import dataset_id, whole
from clueline.data.readers.shared.quizbowl_games import (
    LEFT_OUT,
    NO_POSITION,
    Buzz,
    Hearing,
    LeftOut,
    PlayedQuestion,
    add_people,
    add_questions,
    exposure_rows,
    one_buzz_per_team,
)

FORMAT = Format(
    key="buzzpoints",
    reads="Buzzpoints of quizbowl tournaments: the SQLite database of a site of buzzpoints",
    recognised="The first bytes of a SQLite database",
    becomes="A dataset for each question set, with the buzzes of teams under pseudonyms",
    rules="Words are counted as moderators read them: HTML tags, power marks, directions such as `[emphasize]` and pronunciation "
    "guides do not count. The sites split words at `&nbsp;`, and so does this reader. A team heard the tossups 1 to "
    "`tossups_read` of its game's packet; a correct buzz ended a tossup for both teams. A second buzz of a team is left out: "
    "the correct one counts, otherwise the first. A buzz past the end is moved to the end. A buzz without a word, or of a "
    "team that did not play, is left out. A tossup that was edited for another edition is a separate question. All of this is "
    "counted in the report. Players are never stored.",
)
SIGNATURE = b"SQLite format 3\0"
ENDINGS = (".db", ".sqlite", ".sqlite3")
NEEDED = {
    "tossup": {"id", "question", "answer"}, "packet": {"id"}, "tournament": {"id", "name"},
    "round": {"id", "tournament_id", "packet_id"}, "team": {"id", "name"}, "player": {"id", "team_id"},
    "game": {"id", "round_id", "tossups_read", "team_one_id", "team_two_id"},
    "buzz": {"player_id", "game_id", "tossup_id", "buzz_position", "value"},
}  # fmt: skip
NUMBERS = ("question_number", "tossups_read", "buzz_position", "value")  # columns of whole numbers besides ids
VALUES = (-5, 0, 10, 15, 20)
UNKNOWN = "buzzes whose game, player or tossup is not in the file, left out"
OTHER_TEAM = "buzzes of a team that did not play in the game"
BEYOND = "buzzes on tossups beyond those that their game read; both teams count as having heard these"
SAME_NUMBER = "tossups with the number of another one of their packet, which counts instead"
LONG_GAME = "games that read more tossups than their packet has, counted as having read the packet"
NO_COUNT = "games that do not say how many tossups were read, counted as having read the packet"
NO_PACKET = "games without a packet; only their tossups with buzzes count as heard"


@dataclass
class QuestionSet:
    """A question set, which becomes a dataset: ids of the tossups that were read or are in a packet, and of the games."""

    name: str
    slug: str
    tossups: dict[int, None] = field(default_factory=dict)
    games: list[int] = field(default_factory=list)


@dataclass
class Game:
    """A game between two teams. Tournament, packet, teams and tossups heard are ids; None is what the file does not say."""

    tournament: int | None
    packet: int | None
    tossups_read: int | None
    teams: tuple[int, ...]
    heard: dict[int, None] = field(default_factory=dict)
    buzzes: list[tuple[int, int, int, bool]] = field(default_factory=list)  # tossup, team, position, whether correct
    left_out: Counter[tuple[int, str]] = field(default_factory=Counter)  # other buzzes, by tossup and reason


def recognises(incoming: Incoming) -> bool:
    if incoming.path.is_file() and not incoming.path.stat().st_size:
        return incoming.name.lower().endswith(ENDINGS)
    return incoming.start.startswith(SIGNATURE)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is not None:
        raise refuse(incoming.name, "this is a folder or zip; name the SQLite database itself")
    if not incoming.start:
        raise refuse(incoming.name, "the file is empty (0 bytes); download the database again")
    if not incoming.start.startswith(SIGNATURE):
        raise refuse(incoming.name, "this is not a SQLite database")
    with _open_database(incoming.file.path, incoming.name) as database:
        missing = {table: columns - database.tables.get(table, set()) for table, columns in NEEDED.items()}
        lacking = ", ".join(f"{table}({', '.join(sorted(columns))})" for table, columns in missing.items() if columns)
        if lacking:
            raise refuse(incoming.name, f"this is a SQLite database, but not one of buzzpoints: it lacks {lacking}")
        _Reading(incoming.name, database, staging).read(options)


class _Database:
    """The tables of a database: their columns by name, in lower case, because SQLite ignores case. Views are left out."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        self.tables = {
            name.lower(): {row[1].lower() for row in connection.execute("select * from pragma_table_info(?)", (name,))}
            for name in names
        }

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return some columns of all rows, in the order of the file; none if there is no such table. Missing columns are None.

        Ids and other whole numbers are None if they are none. Rows without a number in a first column ``id`` are left out.
        """
        if table not in self.tables:
            return []
        chosen = ", ".join(f'"{name}"' if name in self.tables[table] else "null" for name in columns)
        are_whole = [name in NUMBERS or name.endswith("id") for name in columns]
        rows = self._connection.execute(f'select {chosen} from "{table}" order by rowid')
        read = (tuple(whole(cell) if is_whole else cell for is_whole, cell in zip(are_whole, row, strict=True)) for row in rows)
        return [row for row in read if row[0] is not None or columns[0] != "id"]


@contextmanager
def _open_database(path: Path, name: str) -> Iterator[_Database]:
    """Open a database, without writing to it or next to it. Errors of the file are raised as ``Refused``, also while reading."""
    changes = path.with_name(f"{path.name}-wal")
    if changes.is_file() and changes.stat().st_size:  # SQLite would read these, and write next to them
        reason = f"its latest changes are in {changes.name} next to it; close the program that has it open, or vacuum it"
        raise refuse(name, reason)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("pragma trusted_schema = off")
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            yield _Database(connection)
    except sqlite3.Error as error:
        raise refuse(name, f"the SQLite database is damaged or cut short ({error}); create or download it again") from error


class _Reading:
    def __init__(self, name: str, database: _Database, staging: Staging) -> None:
        self.name = name
        self.staging = staging
        self.repaired = staging.report.repaired
        self.rows = database.rows
        self.questions = {row[0]: row[1:] for row in self.rows("question", "id", "category", "subcategory", "category_main")}
        self.tossups: dict[int, tuple[Any, ...]] = {}
        self.versions: dict[int, list[int]] = defaultdict(list)  # question -> its tossups
        for tossup, question, *cells in self.rows("tossup", "id", "question_id", "question", "answer", "category", "subcategory"):
            facts = self.questions.get(question, (None, None, None))
            self.tossups[tossup] = (*cells[:2], facts[0] or facts[2] or cells[2], facts[1] or cells[3])
            self.versions[-1 - tossup if question is None else question].append(tossup)
        self.texts = {tossup: plain_text(str(cells[0] or "").replace("&nbsp;", " ")) for tossup, cells in self.tossups.items()}
        self.words = {tossup: max(count_words(text), 1) for tossup, text in self.texts.items()}
        self.packets: dict[int, dict[int, int]] = defaultdict(dict)  # packet -> number -> question
        for packet, number, question in self.rows("packet_question", "packet_id", "question_number", "question_id"):
            # A question without a tossup is a bonus; bonuses are numbered separately.
            known = None not in (packet, number) and self.versions.get(question)
            if known and self.packets[packet].setdefault(number, question) != question:
                self.repaired[SAME_NUMBER] += 1
        if "packet_question" not in database.tables:
            for tossup, packet, number in self.rows("tossup", "id", "packet_id", "question_number"):
                if None not in (packet, number):
                    self.packets[packet][number] = -1 - tossup
        self.tournaments = {row[0]: str(row[1] or f"tournament {row[0]}") for row in self.rows("tournament", "id", "name")}
        self.teams = {row[0]: (row[2], str(row[1] or row[0])) for row in self.rows("team", "id", "name", "tournament_id")}
        self.sets = self._question_sets()
        self.games = self._games()

    def _question_sets(self) -> dict[int, int]:
        """Return the question set of each packet: by its own reference, or by the tournaments that played it."""
        editions = dict(self.rows("question_set_edition", "id", "question_set_id"))
        sets = [key for (key,) in self.rows("question_set", "id")]

        def sets_of(table: str) -> dict[int, int]:
            rows = self.rows(table, "id", "question_set_id", "question_set_edition_id")
            chosen = {key: editions.get(edition) if own is None else own for key, own, edition in rows}
            return {key: value for key, value in chosen.items() if value is not None}

        packets, tournaments = sets_of("packet"), sets_of("tournament")
        for _, tournament, packet in self.rows("round", "id", "tournament_id", "packet_id"):
            if packet is not None and tournament in tournaments:
                packets.setdefault(packet, tournaments[tournament])
        only = sets[0] if len(sets) == 1 else 0
        return {packet: packets.get(packet, only) for (packet,) in self.rows("packet", "id")}

    def _games(self) -> dict[int, Game]:
        rounds = {key: parts for key, *parts in self.rows("round", "id", "tournament_id", "packet_id")}
        games = {}
        for game, round_id, count, *sides in self.rows("game", "id", "round_id", "tossups_read", "team_one_id", "team_two_id"):
            tournament, packet = rounds.get(round_id, (None, None))
            games[game] = Game(tournament, packet, count, tuple(team for team in sides if team in self.teams))
        players = dict(self.rows("player", "id", "team_id"))
        unusual: Counter[int] = Counter()
        for player, game, read, word, points in self.rows("buzz", "player_id", "game_id", "tossup_id", "buzz_position", "value"):
            played, buzzer = games.get(game), players.get(player)
            if played is None or buzzer is None or read not in self.tossups:
                self.repaired[UNKNOWN] += 1
            elif buzzer not in played.teams:
                played.left_out[read, OTHER_TEAM] += 1
            elif word is None or word < 0 or points is None:
                played.left_out[read, NO_POSITION] += 1
            else:
                unusual[points] += points not in VALUES
                played.buzzes.append((read, buzzer, word, points > 0))
        for points, count in sorted(unusual.items()):
            if count:
                outcome = "correct" if points > 0 else "incorrect"
                self.staging.report.warnings.append(
                    f"{self.name}: buzzes with the value {points}, which count as {outcome}: {count:,}"
                )
        self._hear(games)
        return games

    def _hear(self, games: dict[int, Game]) -> None:
        """Work out which tossups each game read: those of its packet, in the version on which its tournament buzzed."""
        counts: Counter[tuple[int | None, int]] = Counter()
        for game in games.values():
            counts.update((game.tournament, tossup) for tossup, *_ in game.buzzes)
        for game in games.values():
            numbers = self.packets.get(game.packet, {}) if game.packet is not None else {}
            last = max(numbers, default=0)
            buzzed = {tossup for tossup, *_ in game.buzzes}
            if not numbers:
                self.repaired[NO_PACKET] += 1
            elif game.tossups_read is None:
                self.repaired[NO_COUNT] += 1
            elif game.tossups_read > last:
                self.repaired[LONG_GAME] += 1
            count = last if game.tossups_read is None else game.tossups_read
            for number in sorted(numbers):
                if number <= count:
                    versions = self.versions[numbers[number]]
                    game.heard[max(versions, key=lambda t: (t in buzzed, counts[game.tournament, t], -t))] = None
            for tossup, *_ in game.buzzes:
                if tossup not in game.heard:
                    self.repaired[BEYOND] += bool(numbers)
            game.heard |= dict.fromkeys(tossup for tossup, *_ in game.buzzes)

    def read(self, options: ImportOptions) -> None:
        """Add a dataset for each question set, or one for all of them if the options name a dataset."""
        names = {row[0]: row[1:] for row in self.rows("question_set", "id", "name", "slug")}
        sets: dict[int, QuestionSet] = {}

        def set_of(packet: int | None) -> QuestionSet:
            key = 0 if options.dataset else self.sets.get(packet or 0, 0)
            name, slug = names.get(key, (None, None))
            return sets.setdefault(key, QuestionSet(str(name or ""), str(slug or "")))

        for key, game in self.games.items():
            played = set_of(game.packet)
            played.games.append(key)
            played.tossups.update(game.heard)
        for packet, numbers in self.packets.items():
            tossups = set_of(packet).tossups
            for number in sorted(numbers):
                versions = self.versions[numbers[number]]
                if not any(tossup in tossups for tossup in versions):
                    tossups[versions[0]] = None
        sets = {key: played for key, played in sets.items() if played.tossups}
        if not sets:
            raise refuse(self.name, "the database holds no tossups")
        named = {key: dataset_id((played.slug or played.name).replace("/", " ")) for key, played in sets.items()}
        ids = Counter(named.values())
        for key, played in sets.items():
            own = named[key] or "buzzpoints"
            title = options.title if len(sets) == 1 or options.dataset else None
            self._add(options.dataset or (own if ids[own] < 2 else f"{own}-{key}"), title, played, options.names)

    def _add(self, dataset: str, title: str | None, played: QuestionSet, keep_names: bool) -> None:
        tournaments = {self.games[key].tournament for key in played.games}
        names = sorted(self.tournaments[key] for key in tournaments if key in self.tournaments)
        title = title or played.name or ", ".join(names[:1]) or dataset
        source = f"Buzzpoints of {', '.join(names)[:300]}" if names else "Buzzpoints"
        self.staging.add_dataset(self.name, dataset, kind="incremental", title=title, source=source)
        questions = []
        for tossup in sorted(played.tossups):
            answer, category, subcategory = (
                None if cell is None else str(cell).strip() or None for cell in self.tossups[tossup][1:]
            )
            text = self.texts[tossup] or None
            questions.append(PlayedQuestion(str(tossup), text, answer, category, subcategory, f"tossup {tossup}"))
        add_questions(self.staging, self.name, dataset, questions)
        team_names = self._team_names(played, keep_names)
        hearings, buzzes = [], []
        left_out: LeftOut = Counter()
        for key in played.games:
            game, match = self.games[key], f"game {key}"
            teams = tuple(team_names[team] for team in game.teams)
            hearings += [Hearing(str(tossup), match, teams, match) for tossup in game.heard]
            buzzes += [
                Buzz(str(tossup), match, team_names[team], word, correct, match) for tossup, team, word, correct in game.buzzes
            ]
            for (tossup, reason), count in game.left_out.items():
                if tossup in played.tossups:
                    left_out[str(tossup), match, reason] += count
                else:  # the dataset has no such question, so no curve lacks them
                    self.repaired[LEFT_OUT.format(reason)] += count
        words = {str(tossup): self.words[tossup] for tossup in played.tossups}
        settled = one_buzz_per_team(buzzes, words, self.repaired, left_out)
        add_people(self.staging, self.name, dataset, exposure_rows(hearings, settled, words), settled, left_out)

    def _team_names(self, played: QuestionSet, keep: bool) -> dict[int, str]:
        """Return the names of the teams of a question set, or pseudonyms in an order that does not reveal their names."""
        teams = sorted({team for key in played.games for team in self.games[key].teams})
        if not keep:
            order = sorted(teams, key=lambda team: hashlib.sha256(f"{self.teams[team]}".encode()).digest())
            return {team: f"Team {number}" for number, team in enumerate(order, start=1)}
        repeated = Counter(self.teams[team][1] for team in teams)
        return {
            team: name if repeated[name] == 1 else f"{name} ({self.tournaments.get(tournament or 0, tournament)}, {team})"
            for team in teams
            for tournament, name in [self.teams[team]]
        }
