"""One question: its clues, what people did, and the responses of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import polars as pl

from clueline.data.dataset_kinds import NO, YES
from clueline.data.human_curves import UNSTATED_END
from clueline.data.life_table import best_guess, survivors
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import STATES, State, among_states, state_sql
from clueline.data.sufficient_statistics import likelier_side
from clueline.queries.buzzing import Buzzpoint, Rules, buzzpoint
from clueline.queries.engine.counted import count_groups
from clueline.queries.engine.gather import gather
from clueline.queries.engine.plays_of_people import with_second_values
from clueline.queries.engine.rows import Responses
from clueline.queries.engine.run_columns import float_array, sample_numbers
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import left_out_plays, selected_responses, selection_clauses
from clueline.queries.metrics import CATALOGUE, HUMAN_CURVES, METRICS, Metric
from clueline.queries.metrics.counted_answers import CountedAnswers
from clueline.queries.metrics.kernels.per_question import buzz_mass
from clueline.queries.selection import Selection, has_forecasts, number
from clueline.queries.selection.parameter_kinds import BadRequest


class Clue(msgspec.Struct):
    """A clue: the text that it adds, and where it ends in the question's text, in words and in characters."""

    clue: int
    text: str | None
    word_end: int
    char_end: int


class HumanBuzz(msgspec.Struct):
    """A buzz of a team; ``word`` counts from 0, and is the question's number of words if the buzz came after the end."""

    clue: int
    word: int
    correct: bool
    team: str

    def place(self, words: int) -> str:
        """Return where it came in a question of some words, which people count from 1.

        >>> HumanBuzz(0, 37, True, "Ash").place(90), HumanBuzz(1, 90, True, "Ash").place(90)
        ('at word 38', 'after the end')
        """
        return f"at word {self.word + 1}" if self.word < words else "after the end"


class HumanRecord(msgspec.Struct):
    """What people did.

    ``teams`` is the number of exposures. ``silent`` of them are assumed: the team never buzzed in that match of several
    questions, and the data do not say how far it heard the question. ``unstated`` of them ended without a buzz where nobody
    stated, and count as heard to the end. Each of the four human curves has one value per clue, in [0, 1], None where undefined.
    ``second`` has those that differ without the unstated ones; see ``plays_of_people``. ``buzzes`` are those of human teams.
    """

    SECOND: ClassVar = HUMAN_CURVES

    teams: int
    silent: int
    unstated: int
    buzz_share: list[float | None]
    release_share: list[float | None]
    team_share: list[float | None]
    survival: list[float | None]
    buzzes: list[HumanBuzz]
    second: dict[str, list[float | None]] = {}


class Votes(msgspec.Struct):
    """How people voted, class by class: in the dataset's order if it names its classes, else sorted by name."""

    classes: list[str]
    votes: list[int]
    shares: list[float]  # of all votes on the question; sums to 1


class ClueResponse(msgspec.Struct):
    """An answer of a run at one clue.

    Attributes:
        guess, correct, confidence: of a forecast, those of the likelier side. ``confidence`` is None if none was stated.
        buzz_mass: probability that the run buzzes here, if at each clue it buzzes with a chance equal to its confidence; 0
            without a confidence.
        contribution: the clue's share in the mean inside CalScore, (1 - h_t) g_t c_t / T, of its sample; None without people, and
            without a confidence.
        graded: how the guess was graded, see responses.graded in data/store/run_files.py.
        sample: which of several answers to the clue it is; None where there is only one.
        buzz: the system's own decision whether to answer here; None where it states none.
        disputed: whether the gradings of the run differ on the answer; of several samples, on any of them.
    """

    clue: int
    guess: str | None
    correct: float
    confidence: float | None
    buzz_mass: float
    contribution: float | None
    graded: str
    failed: bool
    state: State
    sample: str | None = None
    buzz: bool | None = None
    disputed: bool = False

    @property
    def answered(self) -> bool:
        """Whether it is an answer with a confidence."""
        return self.confidence is not None


class RunResponses(RunName):
    """A run on the question, with answers in the order of samples and clues. Metrics are None where undefined on this question.

    ``shares`` is its whole distribution over the classes of the votes, at its last clue; None where it gives none or nobody
    voted. ``buzzpoint`` is None where nobody asked for it, where the dataset's questions are not read clue by clue, where the run
    has no answers that count, and for respondents.
    """

    SECOND: ClassVar = ("metrics",)

    metrics: dict[str, float | None]
    shares: list[float] | None
    buzzpoint: Buzzpoint | None
    clues: list[ClueResponse]
    second: dict[str, float] = msgspec.field(default_factory=dict)  # of metrics; see ``plays_of_people``

    def one_per_clue(self) -> list[ClueResponse]:
        """Return one answer per clue: of several samples, the most frequent guess, and means over those with a confidence."""
        if all(answer.sample is None for answer in self.clues):
            return self.clues
        by_clue: dict[int, list[ClueResponse]] = {}
        for answer in self.clues:
            by_clue.setdefault(answer.clue, []).append(answer)
        return [_summary(by_clue[clue]) for clue in sorted(by_clue)]

    def own_buzz(self) -> int | None:
        """Return the first clue at which the system itself decided to answer, in its first sample with one; else None."""
        return next((answer.clue for answer in self.clues if answer.buzz), None)


def _summary(answers: Sequence[ClueResponse]) -> ClueResponse:
    """Combine several answers to one clue into one."""
    counted = [answer for answer in answers if answer.answered]
    if not counted:
        return answers[0]
    guesses = Counter(answer.guess for answer in counted)

    def mean(name: str) -> float | None:
        values = [value for answer in counted if (value := getattr(answer, name)) is not None]
        return sum(values) / len(values) if values else None

    guess = max(guesses, key=lambda guess: guesses[guess])
    first = next(answer for answer in counted if answer.guess == guess)
    means = {name: mean(name) for name in ("correct", "confidence", "buzz_mass", "contribution")}
    disputed = any(answer.disputed for answer in counted)
    return msgspec.structs.replace(first, **means, sample=None, buzz=None, disputed=disputed)


class Lifespan(msgspec.Struct):
    """At which age a LifeEval question's person dies, by the life table; ``mas`` is the chance that the best guess is right."""

    ages: list[int]
    probability: list[float]  # of dying at each age, having reached the minimum age; sums to 1
    best_guess: int
    mas: float


class QuestionFacts(msgspec.Struct):
    """What the store knows about a question: each field is the column of the same name."""

    dataset: str
    question_id: str
    text: str | None
    answer: str | None
    category: str | None
    subcategory: str | None
    difficulty: float | None
    difficulty_source: str | None
    sex: str | None
    minimum_age: int | None
    radius: int | None


class Question(QuestionFacts):
    """Answer of ``/api/v1/questions/<dataset>/<question_id>``.

    ``attributes`` are facts that the file states in columns of its own. ``left_out_plays`` is the number of plays or buzzes that
    the human curves do not contain, by what they are and why; ``human`` is None if no other is left. ``model_buzzes`` are
    the buzzes of models that played as teams; they are not part of ``human``. ``human_curve`` is the curve that CalScore is
    computed with, and ``team_curve`` that of CalScore squared.
    """

    SECOND: ClassVar = ("difficulty",)

    attributes: dict[str, str]
    clues: list[Clue]
    human: HumanRecord | None
    left_out_plays: dict[str, int]
    model_buzzes: list[HumanBuzz]
    human_curve: str
    team_curve: str
    votes: Votes | None
    lifespan: Lifespan | None
    runs: list[RunResponses]
    second: dict[str, float] = {}  # see ``plays_of_people``


def question(
    snapshot: Snapshot,
    selection: Selection,
    question_id: str,
    rules: Rules | None = None,
    best: tuple[tuple[str, float], ...] = (),
    metrics: tuple[Metric, ...] = METRICS,
) -> Question:
    """Return one question with the responses of the selection's runs, whatever filters on questions and clues say.

    Without rules, there are no buzzpoints. ``best`` are pairs of a run and its best threshold, for runs to which the rules do not
    give one. ``metrics`` are those of each run. Raises ``BadRequest`` for an unknown question.
    """
    identity = {"dataset": selection.dataset, "question": question_id}
    this_question = "dataset = $dataset and question_id = $question"
    facts = snapshot.frame(
        f"select {', '.join(QuestionFacts.__struct_fields__)} from questions where {this_question}", identity
    ).to_dicts()
    if not facts:
        raise BadRequest(
            "unknown_question", f"Dataset {selection.dataset!r} has no question {question_id!r}.", "question_id", status=404
        )
    clues = snapshot.frame(
        f"select clue, text, word_end, char_end from clues where {this_question} order by clue", identity
    ).to_dicts()
    human = _human(snapshot, this_question, identity)
    votes, class_names = _votes(snapshot, this_question, identity)
    # The question is named by its address: of the selection, only the runs and the conventions apply to it.
    one_question = selection.without_filters("questions").without_filters("clues").replace(questions=(question_id,), common=None)
    curve = CATALOGUE["calscore"].human_curve(selection.conventions) or HUMAN_CURVES[0]
    answer = Question(
        **facts[0],
        attributes=dict(
            snapshot.rows(f"select attribute, value from attributes where {this_question} order by attribute", identity)
        ),
        clues=[Clue(**clue) for clue in clues],
        human=human,
        left_out_plays=left_out_plays(snapshot, one_question),
        model_buzzes=_buzzes(snapshot, this_question, identity, "model"),
        human_curve=curve,
        team_curve=CATALOGUE["calscore2"].human_curve(selection.conventions) or curve,
        votes=votes,
        lifespan=_lifespan(facts[0]),
        runs=_runs(
            snapshot, one_question, getattr(human, curve) if human else None, votes, class_names, rules, dict(best), metrics
        ),
    )
    return with_second_values(
        snapshot, one_question, answer, lambda other, same: question(other, same, question_id, rules, best, metrics)
    )


def _lifespan(facts: dict[str, Any]) -> Lifespan | None:
    sex, age, radius = facts["sex"], facts["minimum_age"], facts["radius"]
    if sex is None or age is None or radius is None:
        return None
    alive = survivors(sex)[age:]
    best, mas = best_guess(radius, age, sex)
    return Lifespan(list(range(age, age + len(alive) - 1)), (-np.diff(alive) / alive[0]).tolist(), best, mas)


def _human(snapshot: Snapshot, this_question: str, identity: dict[str, str]) -> HumanRecord | None:
    curves = snapshot.frame(f"select * from curves where {this_question} order by clue", identity)
    if curves.is_empty():
        return None
    return HumanRecord(
        teams=curves["teams"][0],
        unstated=_unstated_ends(snapshot, this_question, identity),
        silent=0 if snapshot.collection else _silent_teams(snapshot, this_question, identity),
        buzz_share=curves["buzz_share"].to_list(),
        release_share=curves["release_share"].to_list(),
        team_share=curves["team_share"].to_list(),
        survival=curves["survival"].to_list(),
        buzzes=_buzzes(snapshot, this_question, identity, "human"),
    )


def _unstated_ends(snapshot: Snapshot, this_question: str, identity: dict[str, str]) -> int:
    sql = f"select count(*) from (from exposures where {this_question}) e where team_kind = 'human' and {UNSTATED_END}"
    return int(snapshot.rows(sql, identity)[0][0])


def _silent_teams(snapshot: Snapshot, this_question: str, identity: dict[str, str]) -> int:
    """Count the human teams of which nothing shows that they heard a question; see ``HumanRecord``."""
    of_match = "o.dataset = e.dataset and o.match_id = e.match_id"
    ((silent,),) = snapshot.rows(
        f"""select count(*) from (from exposures where {this_question}) e
        where team_kind = 'human' and heard_words is null and ended_by is null
            and exists (from exposures o where {of_match} and o.question_id <> e.question_id)
            and not exists (from buzzes o where {of_match} and o.team = e.team)""",
        identity,
    )
    return int(silent)


def _buzzes(snapshot: Snapshot, this_question: str, identity: dict[str, str], kind: str) -> list[HumanBuzz]:
    """Return the buzzes of one kind of teams, ``human`` or ``model``, in the order of words."""
    rows = snapshot.frame(
        f"""select clue, word, correct, team from buzzes where {this_question} and team_kind = $kind
        order by word, team, match_id""",
        identity | {"kind": kind},
    )
    return [HumanBuzz(**row) for row in rows.to_dicts()]


def _votes(snapshot: Snapshot, this_question: str, identity: dict[str, str]) -> tuple[Votes | None, list[str] | None]:
    """Return the votes, None where nobody voted; and the classes that the dataset names, to which unnamed distributions refer."""
    class_names = snapshot.rows("select classes from datasets where dataset = $dataset", {"dataset": identity["dataset"]})[0][0]
    given: dict[str, int] = dict(snapshot.rows(f"select class, votes from votes where {this_question} order by class", identity))
    total = sum(given.values())
    if not total:
        return None, class_names
    if not class_names:  # each question has classes of its own: what could be voted for, and what runs could choose
        names = snapshot.rows("select run from runs where dataset = $dataset", {"dataset": identity["dataset"]})
        runs = [run for (run,) in names]
        option_names = snapshot.rows(
            f"""select distinct unnest(option_names) from {snapshot.responses(runs)}
            where {this_question} and option_names is not null""",
            identity,
        )
    classes = class_names or sorted({*given, *(row[0] for row in option_names)})
    votes = [given.get(name, 0) for name in classes]
    return Votes(classes, votes, [count / total for count in votes]), class_names


def _shares(votes: Votes | None, options: list[float] | None, names: list[str] | None) -> list[float] | None:
    """Return a distribution over the classes of the votes; None where there are no votes, options or names."""
    if votes is None or options is None or names is None:
        return None
    share_of = dict(zip(names, options, strict=True))
    return [float(share_of.get(name, 0.0)) for name in votes.classes]


def _runs(
    snapshot: Snapshot,
    one_question: Selection,
    curve: list[float | None] | None,
    votes: Votes | None,
    class_names: list[str] | None,
    rules: Rules | None,
    best: dict[str, float],
    metrics: tuple[Metric, ...],
) -> list[RunResponses]:
    with_clauses, parameters = selection_clauses(one_question)
    responses_sql = selected_responses(snapshot, one_question, parameters, STATES, mark_disputed=True)
    rows = snapshot.frame(
        f"""{with_clauses}
        select r.run, r.model, r.elicitation, p.clue, p.guess, p.correct, p.graded, p.failed, p.options,
            case when {among_states(("answered",), "p")} then p.confidence end as confidence,
            {state_sql("p")} as state, p.option_names, p.sample, p.buzz,
            p.disputed, r.respondents, list_sum(p.token_logprobs) as logprob
        from ({responses_sql}) p join chosen_runs r using (run)
        order by r.place, p.sample, p.clue""",
        parameters,
    )
    parts = rows.partition_by("run", "model", "elicitation", as_dict=True)
    values: dict[str, dict[str, float | None]] = {run: {} for run, _, _ in parts}
    for group in count_groups(snapshot, one_question, metrics, compared=False) if metrics else []:
        # Statistics are stored in files for all questions. Computing them from these few responses is faster than reading these.
        responses = _responses_of_metrics(rows, group.selection.items)
        evidence = gather(snapshot, group.selection, group.metrics, responses)
        for metric in group.metrics:
            of_runs = evidence.values(metric)
            for run, value in zip(evidence.runs, of_runs, strict=True):
                values[run.run][metric.key] = number(value)
    forecasts = has_forecasts(snapshot, one_question.dataset)
    runs = []
    for (run, model, elicitation), part in parts.items():
        shown = of_likelier_side(part) if forecasts else part
        counted = shown.with_row_index("row").drop_nulls("confidence")
        mass, contribution = np.zeros(len(shown)), np.full(len(shown), np.nan)
        for _, answers in counted.group_by("sample"):
            confidence, correct = answers["confidence"].to_numpy(), answers["correct"].to_numpy()
            mass[answers["row"]] = buzz_mass(confidence)
            if curve is not None:
                known = np.array([curve[clue] or 0.0 for clue in answers["clue"]])
                contribution[answers["row"]] = (1 - known) * (2 * correct - 1) * confidence / len(answers)
        clues = shown.with_columns(buzz_mass=mass, contribution=pl.Series(contribution, nan_to_null=True))
        point = None
        if rules is not None and len(counted) and not part["respondents"][0]:  # respondents are not a system that buzzes
            first = part[counted["row"]].filter(pl.col("sample").eq_missing(pl.lit(counted["sample"][0])))
            score = float_array(first[rules.scale])
            point = buzzpoint(first["clue"].to_numpy(), score, rules.threshold_of(run), best.get(run))
        last = part.row(counted["row"][-1], named=True) if len(counted) else {"options": None, "option_names": None}
        runs.append(
            RunResponses(
                run=run,
                model=model,
                elicitation=elicitation,
                metrics={metric.key: values[run].get(metric.key) for metric in metrics},
                shares=_shares(votes, last["options"], last["option_names"] or class_names),
                buzzpoint=point,
                clues=[ClueResponse(**answer) for answer in clues.select(ClueResponse.__struct_fields__).to_dicts()],
            )
        )
    return runs


def of_likelier_side(forecasts: pl.DataFrame) -> pl.DataFrame:
    """Replace guess, confidence and correctness of forecasts with those of the likelier side; failed calls stay as they are."""
    confidence, correct = likelier_side(*(float_array(forecasts[name]) for name in ("confidence", "correct")))
    side = pl.when(pl.col("confidence") < 0.5).then(pl.lit(NO)).otherwise(pl.lit(YES))
    changed: dict[str, pl.Expr | pl.Series] = {"guess": side, "confidence": pl.Series(confidence), "correct": pl.Series(correct)}
    return forecasts.with_columns(**{name: pl.when("failed").then(name).otherwise(new) for name, new in changed.items()})


def _responses_of_metrics(rows: pl.DataFrame, items: CountedAnswers) -> dict[str, Responses]:
    """Return the answers of each run to one question that metrics count, by sample and clue; see ``run_items``."""
    right = ~pl.col("state").is_in(["abstained", "failed"]) if items.attempts else pl.col("correct")
    counted = rows.filter(pl.col("state").is_in(items.states)).with_columns(
        pl.col("confidence").fill_null(0.0), right.cast(pl.Float64).alias("correct")
    )
    parts = counted.select("run", "clue", "confidence", "correct", "sample").partition_by("run", as_dict=True)
    responses = {}
    for run in rows["run"].unique(maintain_order=True):
        part = parts.get((run,), counted[:0])
        samples = None if part["sample"].is_null().all() else sample_numbers(part["sample"])
        confidence, correct = (float_array(part[name]) for name in ("confidence", "correct"))
        responses[run] = Responses(np.zeros(len(part), np.int64), part["clue"].to_numpy(), confidence, correct, samples)
    return responses
