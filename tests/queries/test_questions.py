"""The list of questions: order, pages and values."""

import pytest

from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.questions import FACTS, ordered_questions, question_table, sparklines
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers import reference_metrics as reference
from tests.helpers.question_pages import questions
from tests.helpers.small_store import ODD

RELAY, SPANS = Selection("relay"), Selection("spans")


def paged(snapshot, selection, sort, limit, metrics=()):
    """Return all questions, read page by page."""
    listed, cursor = [], None
    while True:
        page = questions(snapshot, selection, metrics, sort, limit, cursor)
        listed += page.questions
        assert len(page.questions) == limit or page.next is None
        if page.next is None:
            assert page.total == len(listed)
            return listed
        cursor = page.next


@pytest.fixture(scope="module")
def facts(snapshot, rows):
    """Facts of each question of ``relay``, by question id."""
    return {row["question_id"]: row | human_facts(snapshot, rows["relay"], row) for row in rows["relay"].questions}


LIMITS = {"people": (1, 5, 12)}  # 5 for the other orders: how pages are cut does not depend on the order


@pytest.mark.parametrize(
    ("sort", "limit"), [(sort, limit) for fact in FACTS for sort in (fact, f"-{fact}") for limit in LIMITS.get(sort, (5,))]
)
def test_pages_sorted_by_a_fact(snapshot, facts, sort, limit):
    fact = sort.removeprefix("-")
    result = paged(snapshot, RELAY, sort, limit)
    with_value = [name for name in facts if facts[name][fact] is not None]
    without = [name for name in facts if facts[name][fact] is None]
    with_value.sort(key=lambda name: facts[name][fact], reverse=sort.startswith("-"))  # stable: ties keep the dataset's order
    expected = with_value + without
    assert [question.question_id for question in result] == expected == ordered_questions(snapshot, RELAY, sort).questions


def human_facts(snapshot, rows, question):
    """Return what people did on a question, counted in Python."""
    name, last = question["question_id"], rows.curves.get((question["question_id"], question["clues"] - 1))

    def of_people(table):
        return snapshot.frame(
            f"select * from {table} where dataset = 'relay' and question_id = $q and team_kind = 'human'", {"q": name}
        ).to_dicts()

    heard, buzzes = of_people("exposures"), of_people("buzzes")
    rooms = {row["match_id"] for row in heard}
    return {
        "people": last and last["team_share"],
        "heard": len({(row["match_id"], row["team"]) for row in heard}),
        "h": last and last["buzz_share"],
        "conversion": len({row["match_id"] for row in buzzes if row["correct"]}) / len(rooms) if rooms else None,
    }


@pytest.mark.parametrize("key", ["brier", "calscore", "auroc", "overconfidence", "hmr"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_pages_sorted_by_a_metric_of_a_run(snapshot, rows, offered, key, sign):
    metric = CATALOGUE[key]
    run = next(run for run, model, _ in offered["relay"].runs if model == "partial")
    sort = f"{sign}{metric.key}:{run}"
    result = paged(snapshot, RELAY, sort, 7, [metric])
    assert sorted(question.question_id for question in result) == [f"r{number:02}" for number in range(12)]
    values = [question.runs.get(run, {}).get(metric.key) for question in result]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=bool(sign))
    assert values[len(known) :] == [None] * (12 - len(known))
    assert [question.question_id for question in result] == ordered_questions(snapshot, RELAY, sort).questions
    answered = rows["relay"].answered(RELAY, run)
    for question, value in zip(result, values, strict=True):
        if value is not None:
            expected = reference.METRICS[metric.key]([answered[question.question_id]], Conventions())
            assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("binning", ["width10+1", "mass3"])
def test_values_are_those_of_the_leaderboard_of_each_question(snapshot, binning):
    selection = RELAY.replace(conventions=Conventions(binning), revealed=(0.3, 1.0))
    for question in paged(snapshot, selection, "position", 7, METRICS)[::2]:
        board = leaderboard(snapshot, selection.replace(questions=(question.question_id,), common=False), METRICS)
        expected = {row.run: {key: cell.value for key, cell in row.metrics.items()} for row in board.rows}
        assert question.runs.keys() == expected.keys()
        for run, values in expected.items():
            assert question.runs[run] == pytest.approx(values, abs=1e-15)


def test_facts_of_a_question(snapshot, rows, facts):
    listed = {question.question_id: question for question in questions(snapshot, RELAY, []).questions}
    for row in rows["relay"].questions:
        question = listed[row["question_id"]]
        for fact in ("text", "category", "subcategory", "difficulty"):
            assert getattr(question, fact) == row[fact]
        for fact in ("people", "heard", "h", "conversion"):
            assert getattr(question, fact) == facts[row["question_id"]][fact]
        assert question.answer == row["answer"]
        assert question.runs == {}


def test_sort_order_does_not_depend_on_runs(snapshot, offered):
    run = offered["relay"].runs[0][0]
    among = RELAY.replace(model=("sure",), category=("History", ODD))
    every = among.replace(model=())
    assert ordered_questions(snapshot, among, f"brier:{run}") == ordered_questions(snapshot, every, f"brier:{run}")
    page = questions(snapshot, among, METRICS, f"-brier:{run}")
    assert all(values.keys() <= {offered["relay"].runs[5][0]} for values in (question.runs for question in page.questions))
    assert len(ordered_questions(snapshot, RELAY, f"ece:{offered['relay'].withdrawn[0]}").questions) == 12, "a withdrawn run"


@pytest.mark.parametrize(("selection", "cursor"), [(RELAY.replace(q="no such text"), None), (RELAY, "12"), (RELAY, "999999999")])
def test_an_empty_page(snapshot, selection, cursor):
    page = questions(snapshot, selection, METRICS, cursor=cursor)
    assert (page.questions, page.next) == ([], None)


def test_a_page_whose_runs_answered_none_of_it(snapshot, offered):
    page = questions(snapshot, RELAY.replace(run=(offered["relay"].runs[4][0],)), METRICS, limit=3)
    assert [question.runs for question in page.questions] == [{}, {}, {}]
    assert page.next == "3"


BAD_ORDERS = ["", "-", "colour", "--position", "Position", "brier", "brier:", "brier:none", "none:RUN", "text", ":"]


def test_bad_sort_orders(snapshot, offered):
    runs = [*(run for run, _, _ in offered["relay"].runs), *offered["relay"].withdrawn]
    single = [metric.key for metric in METRICS if metric.single]
    orders = [*FACTS, *(f"{key}:RUN" for key in single), *(f"{key}:RUN-RUN" for key in single), "wrong:RUN"]
    for sort in (*BAD_ORDERS, "hard_easy_slope:RUN"):
        with pytest.raises(BadRequest) as caught:
            ordered_questions(snapshot, RELAY, sort)
        assert (caught.value.code, caught.value.field, caught.value.status) == ("unknown_value", "sort", 400), sort
        assert caught.value.allowed == ([f"brier:{run}" for run in runs] if sort.startswith("brier") else orders)


def test_bad_pages(snapshot):
    cursors = ("", "-1", "1.5", "x", "1 ", "0x1", "²", "1" * 10)
    for key, value in [*(("cursor", cursor) for cursor in cursors), *(("limit", limit) for limit in (0, -1, 1001))]:
        with pytest.raises(BadRequest) as caught:
            questions(snapshot, RELAY, [], **{key: value})
        assert (caught.value.code, caught.value.field) == ("bad_value", key), value


# -- the difference of two runs, and confidently wrong before people knew ----------------------------------------------

WINDOWS = [None, (0.3, 1.0), (0.0, 0.5)]


def in_order(values, names, descending):
    """Sort the names that have a value by it and append those without; ties keep the dataset's order."""
    known = [name for name in names if name in values]
    return sorted(known, key=lambda name: -values[name] if descending else values[name]) + [n for n in names if n not in values]


@pytest.mark.parametrize("revealed", WINDOWS, ids=str)
@pytest.mark.parametrize(("metric", "sign"), [("brier", ""), ("calscore", "-"), ("overconfidence", ""), ("auroc", "-")])
def test_sorted_by_the_difference_of_two_runs(snapshot, rows, run_of, metric, revealed, sign):
    selection = RELAY.replace(revealed=revealed)
    a, b = run_of["plain", "verbalized"], run_of["partial", "verbalized"]
    first, other = (rows["relay"].answered(selection, run, others=(a, b)) for run in (a, b))
    metric_of = reference.METRICS[metric]
    values = {
        name: metric_of([first[name]], Conventions()) - metric_of([other[name]], Conventions()) for name in first if name in other
    }
    values = {name: value for name, value in values.items() if value == value}
    names = [row["question_id"] for row in rows["relay"].questions]
    result = ordered_questions(snapshot, selection, f"{sign}{metric}:{a}-{b}")
    assert len(values) < len(names)  # some run left out a question
    assert values or metric == "auroc"  # a single question seldom has one
    assert dict(zip(result.questions, result.values, strict=True)) == pytest.approx(
        {name: values.get(name) for name in names}, abs=1e-12
    )
    known = {name: value for name, value in zip(result.questions, result.values, strict=True) if value is not None}
    assert result.questions == in_order(known, names, sign == "-")


@pytest.mark.parametrize("revealed", WINDOWS, ids=str)
@pytest.mark.parametrize("human", [None, "release_share", "survival"])
@pytest.mark.parametrize(("model", "sign"), [("plain", ""), ("partial", "-"), ("unheard", "")])
def test_sorted_by_who_was_wrong_before_people_knew(snapshot, rows, run_of, model, human, revealed, sign):
    selection = RELAY.replace(revealed=revealed, conventions=Conventions(human=human))
    run = run_of[model, "verbalized"]
    values = {}
    for name, answers in rows["relay"].answered(selection, run).items():
        if answers.items[0][2] is None:  # nobody heard the question
            continue
        curve = [curves.get(human or "buzz_share") or 0 for _, _, curves in answers.items]
        values[name] = max((1 - h) * (1 - y) * c for h, (c, y, _) in zip(curve, answers.items, strict=True))
    names = [row["question_id"] for row in rows["relay"].questions]
    result = ordered_questions(snapshot, selection, f"{sign}wrong:{run}")
    shown = dict(zip(result.questions, result.values, strict=True))
    assert shown == pytest.approx({name: values.get(name) for name in names}, abs=1e-15)
    assert result.questions == in_order({name: value for name, value in shown.items() if value is not None}, names, sign == "-")


def test_without_people_nobody_knew(snapshot, rows, offered):
    run = offered["spans"].runs[1][0]
    result = ordered_questions(snapshot, SPANS, f"-wrong:{run}")
    answered = rows["spans"].answered(SPANS, run)
    wrong = [(1 - y) * c for name in result.questions for c, y, _ in answered[name].items]
    assert result.values == pytest.approx(wrong, abs=1e-15)
    assert result.values == sorted(result.values, reverse=True)


def test_the_list_shows_the_value_it_is_sorted_by(snapshot, run_of):
    a, b = run_of["plain", "verbalized"], run_of["partial", "verbalized"]
    for sort in (f"-brier:{a}-{b}", f"wrong:{b}", f"brier:{a}"):
        result = ordered_questions(snapshot, RELAY, sort)
        assert [(question.question_id, question.value) for question in paged(snapshot, RELAY, sort, 5)] == [
            *zip(result.questions, result.values, strict=True)
        ]
        frame, _ = question_table(snapshot, RELAY.replace(run=(b,)), [CATALOGUE["brier"]], sort)
        assert frame["question_id"].to_list() == result.questions
        assert frame[sort.removeprefix("-")].to_list() == result.values
    assert all(question.value is None for question in questions(snapshot, RELAY, [], "-difficulty").questions)
    assert "position" not in question_table(snapshot, RELAY, [], "position")[0].columns


def test_unknown_runs_in_a_sort_order_are_refused(snapshot, offered):
    runs = [*(run for run, _, _ in offered["relay"].runs), *offered["relay"].withdrawn]
    a, b = runs[:2]

    def refused(sort):
        with pytest.raises(BadRequest) as caught:
            ordered_questions(snapshot, RELAY, sort)
        assert (caught.value.code, caught.value.field, caught.value.status) == ("unknown_value", "sort", 400)
        return caught.value.allowed

    assert refused(f"brier:{a}-none") == [f"brier:{a}-{run}" for run in runs]
    assert refused(f"-brier:none-{a}") == [f"brier:{run}" for run in runs]
    assert refused(f"brier:{a}-{a}") == [f"brier:{a}-{run}" for run in runs if run != a]
    assert refused(f"brier:{a}-{b}-{a}") == ["brier:RUN", "brier:RUN-RUN"]
    assert refused(f"brier:{offered['spans'].runs[0][0]}") == [f"brier:{run}" for run in runs], "it is of another dataset"
    for bad in ("wrong:none", f"wrong:{a}-{b}", "wrong:", "wrong"):
        assert refused(bad) == [f"wrong:{run}" for run in runs]
    assert "wrong:RUN" in refused(f"hard_easy_slope:{a}-{b}")


# -- sparklines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revealed", WINDOWS, ids=str)
@pytest.mark.parametrize("human", [None, "survival"])
def test_sparklines_match_the_responses(snapshot, rows, revealed, human):
    selection = RELAY.replace(revealed=revealed, conventions=Conventions(human=human), model=("plain", "partial"))
    ids = tuple(row["question_id"] for row in rows["relay"].questions)[2:11]
    result = sparklines(snapshot, selection, ids)
    assert sorted(result) == sorted(ids)
    data, (low, high) = rows["relay"], revealed or (0, 1)
    runs = [run["run"] for run in data.kept_runs(selection)]
    assert len(runs) == 3
    for name in ids:
        clues = [
            clue for (question, clue), row in sorted(data.clues.items()) if question == name and low <= row["revealed"] <= high
        ]
        for run in runs:
            responses = [(data.clues[name, clue]["revealed"], data.responses[run, name, clue]) for clue in clues
                    if (run, name, clue) in data.responses]  # fmt: skip
            if not responses:
                assert run not in result[name].runs
                continue
            sparkline = result[name].runs[run]
            assert sparkline.revealed == [at for at, _ in responses]
            assert sparkline.confidence == [answer["confidence"] for _, answer in responses]
            assert sparkline.correct == responses[-1][1]["correct"]
        curve = [data.curves[name, clue][human or "buzz_share"] or 0 for clue in clues if (name, clue) in data.curves]
        assert (result[name].people.h if result[name].people else []) == curve
    assert any(result[name].people for name in ids)
