"""Buzzing metrics: the outcome of buzzing at a confidence threshold. ``queries.buzzing`` computes them for a given threshold."""

from __future__ import annotations

from functools import partial

from queries.metrics.metric import AnalysisMetric, Need

NO_BUZZ = "no answer of the run has a score on the chosen scale, or the run never buzzes"
NO_HEARD = "no human team heard any of these questions"
OF_PEOPLE: tuple[Need, ...] = ("correctness", "confidence", "human buzzes")
_of_buzz = partial(AnalysisMetric, address="/api/v1/buzz")

BUZZING = (
    _of_buzz(
        key="buzzpoint", name="Fraction revealed at the buzz", label="Buzzpoint", symbol=r"\overline{f}", direction="none",
        formula=r"\mathrm{mean}\, f_{t^*},\quad t^* = \min\{t : c_t > \tau\}",
        words="Mean fraction of the question revealed when the run buzzes, over its buzzes. It buzzes at the first clue whose "
        "confidence (or sum of token log-probabilities) is strictly above the threshold.",
        caveat="Early is not good by itself: a run can buzz early and be wrong. Questions without a buzz are counted separately.",
        undefined=NO_BUZZ,
        source="GRACE (Sung et al. 2025) app. E.3", needs=("confidence",),
        fields=("explorer.runs.outcome.revealed", "explorer.runs.outcome.buzzes", "explorer.runs.outcome.no_buzz"),
    ),
    _of_buzz(
        key="expected_wins", name="Expected wins", label="Expected wins", symbol=r"W(\tau)", direction="higher",
        formula=r"\tfrac{1}{Q}\textstyle\sum_q \pi(f_{t^*})\, y_{t^*},\quad \pi(f) = 1 + 0.0775 f - 1.278 f^2 + 0.588 f^3",
        words="Probability that nobody answered before the run's buzz, counted only if the buzz is correct and 0 without a buzz; "
        "a mean over questions. 1 − h of the dataset's own human curve can replace the polynomial.",
        caveat="The best threshold is chosen and evaluated on the same questions, so its value is slightly optimistic.",
        undefined=NO_BUZZ,
        source="GRACE app. E.3",
        fields=(
            "explorer.runs.outcome.expected_wins",
            "explorer.runs.optimum.expected_wins",
            "explorer.runs.curve.expected_wins",
        ),
    ),
    _of_buzz(
        key="system_score", name="System score", label="Score", symbol="S", direction="higher", low=-5, high=10,
        formula=r"\mathrm{mean}\,(10 \cdot [\text{correct, first}] - 5 \cdot [\text{incorrect, first, before the end}])",
        words="Points per question against a human team that heard it, averaged over all such teams: 10 for a correct buzz that "
        "comes first, −5 for an incorrect one that comes first, before the end.",
        caveat="The team's own points are not subtracted.",
        undefined=NO_HEARD,
        source="GRACE sec. 4, with quizbowl scoring", needs=OF_PEOPLE,
        fields=("explorer.runs.outcome.score", "explorer.runs.curve.score"),
    ),
    _of_buzz(
        key="win_probability", name="Win probability", label="Win", symbol=r"P(\mathrm{win})", direction="higher",
        formula=r"\mathrm{mean}_{q}\; \tfrac{1}{|K_q|} \textstyle\sum_{k \in K_q} [\text{correct, before team } k]",
        words="Probability of answering a question correctly before a random human team that heard it does; exact, over all "
        "teams of each question.",
        caveat="If others ended a team's question before the run's buzz, the team might still have answered it: the part that "
        "rests on such teams is reported as unsure.",
        undefined=NO_HEARD,
        source="Clueline; after GRACE app. E.3", needs=OF_PEOPLE,
        fields=("explorer.runs.outcome.win", "explorer.runs.outcome.loss", "explorer.runs.curve.win"),
    ),
    AnalysisMetric(
        key="earlier_than_people", name="Earlier than people", label="Earlier", symbol=r"P(t^* < m)", direction="higher",
        formula=r"\mathrm{mean}_q\; y_{t^*} \, [w_{t^*} < m_q],\quad m_q = \text{median word of the correct human buzzes}",
        words="Share of the questions that people heard on which the run's buzz is right and before the median of the correct "
        "human buzzes; also by category, and with some words more or fewer.",
        caveat="The median is that of teams that were right. Where others ended the question, slower teams are not in it.",
        undefined=NO_HEARD,
        source="Clueline", needs=OF_PEOPLE, address="/api/v1/buzz/median",
        fields=("runs.earlier.share", "runs.within.share", "runs.categories.earlier.share"),
    ),
    _of_buzz(
        key="cumulative_buzzes", name="Cumulative buzzes", label="Buzz curves", symbol=r"B_{\pm}(f)", direction="none",
        formula=r"\tfrac{1}{\text{heard}} \textstyle\sum [\text{buzz by } f,\ \text{correct } (+) \text{ or incorrect } (-)]",
        words="Correct and incorrect buzzes up to a fraction of the question, per question heard: for people, for their "
        "quartiles Q1 to Q4 by total correct buzzes, and for each run.",
        caveat="Teams heard different questions. The quartiles are computed over the whole selection.",
        undefined="nobody buzzed in these questions",
        source="GRACE fig. 4", needs=OF_PEOPLE, fields=("curves.curves.correct", "curves.curves.incorrect"),
    ),
    _of_buzz(
        key="accuracy_by_fraction", name="Accuracy by fraction revealed", label="Accuracy by fraction", symbol=r"A(f)",
        direction="higher",
        formula=r"\mathrm{mean}_q\; y_{q,\, \max\{t : f_t \le f\}},\quad f = 0.2, 0.4, \ldots, 1",
        words="Correctness at the last clue that ends by 20, 40, 60, 80 or 100 % of the question, averaged over the questions "
        "that have such a clue.",
        caveat="A question whose first clue ends later has no such clue, and is counted as left out.",
        undefined="no clue ends by that fraction",
        source="GRACE fig. 5, table 2", needs=("correctness",),
        fields=("accuracy.runs.fractions.accuracy", "accuracy.teams.fractions.right"),
    ),
    _of_buzz(
        key="buzz_given_correct", name="P(buzz | correct)", label="P(buzz | correct)",
        symbol=r"P(\mathrm{buzz} \mid \mathrm{correct})", direction="higher",
        formula=r"\frac{\sum_q [\text{buzz}]\, y_{t^*}}{\sum_q \sum_{t \le t^*} y_t}",
        words="Of the clues up to and including the first buzz where the guess is correct, the share on which the run buzzed.",
        caveat="Unknown for people: what a team would have answered before its buzz is not recorded.",
        undefined="no guess was correct before or at the buzz",
        source="GRACE sec. 5.1, fig. 6", fields=("habits.runs.given_correct",),
    ),
    _of_buzz(
        key="buzz_given_incorrect", name="P(buzz | incorrect)", label="P(buzz | incorrect)",
        symbol=r"P(\mathrm{buzz} \mid \mathrm{incorrect})", direction="lower",
        formula=r"\frac{\sum_q [\text{buzz}]\, (1 - y_{t^*})}{\sum_q \sum_{t \le t^*} (1 - y_t)}",
        words="Of the clues up to and including the first buzz where the guess is incorrect, the share on which the run buzzed.",
        caveat="Unknown for people: what a team would have answered before its buzz is not recorded.",
        undefined="no guess was incorrect before or at the buzz",
        source="GRACE sec. 5.1, fig. 6", fields=("habits.runs.given_incorrect",),
    ),
    _of_buzz(
        key="survey_score", name="Survey score", label="Survey score", symbol=r"\mathrm{survey}", direction="higher", low=-5,
        high=20,
        formula=r"\mathrm{mean}\,\bigl(y\,(20 - 20\, s) - 5\,(1 - y)\bigr),\quad s = \text{share of clues seen}",
        words="20 − 20 × (share of the clues seen) for a correct buzz, −5 for an incorrect one, 0 without a buzz; a mean over "
        "questions. It splits people into an upper and a lower half.",
        caveat="A correct buzz on the last clue is worth 0, the same as no buzz.",
        undefined=NO_BUZZ,
        source="GRACE app. F.3", fields=("habits.runs.survey_score", "habits.teams.survey_score"),
    ),
    AnalysisMetric(
        key="token_confidence", name="Confidence from token log-probabilities", label="Token confidence", symbol="c",
        direction="none",
        formula=r"\tfrac{1}{n}\textstyle\sum_{i=1}^{n} e^{\ell_i}",
        words="Mean probability of the guess's tokens, for a response that gives their log-probabilities but no confidence.",
        caveat="In a long guess of mostly certain tokens, the mean hides a single uncertain token.",
        undefined="the response gives no log-probabilities",
        source="GRACE app. D.4", needs=("confidence",), address="/api/v1/questions/{dataset}/{question_id}",
        fields=("runs.clues.confidence",), level="item",
    ),
)  # fmt: skip
