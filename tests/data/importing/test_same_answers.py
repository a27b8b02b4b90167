"""The same answers under another name: said when they are imported, before they are stored, and where runs are listed."""

from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.runs import runs
from tests.helpers.bundle_factory import put_two_runs

ROWS = "question_id,clue,guess,confidence,correct\nq1,1,b,0.7,0\nq1,0,a,0.5,1\nq2,0,c,0.2,1\n"


def test_the_same_answers_are_named(cli, prefilled, tmp_path):
    store = prefilled(put_two_runs)

    def imported(name, text, *options, code=0):
        (tmp_path / f"{name}.csv").write_text(text)
        done = cli("import", tmp_path / f"{name}.csv", "--dataset", "toy", "--model", name, *options, store=store.url)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    first, *rest = ROWS.splitlines()
    reordered, other = "\n".join([first, *reversed(rest)]), ROWS.replace("0.7", "0.71")
    assert "exactly" not in imported("one", ROWS) + imported("other", other)
    a, c = (run.run for run in runs(store.snapshot(), "toy").runs[-2:])
    warning = f"(two, verbalized) has exactly the answers of run {a} (one, verbalized)"
    version = store.version()
    for options in ((), ("--dry-run",)):
        assert warning in imported("two", reordered, "--refuse-same-answers", *options, code=1)
    assert store.version() == version, "nothing was stored"
    assert warning in imported("two", reordered)
    b = runs(store.snapshot(), "toy").runs[-1].run
    withdraw(store, a, None)
    same = {run.run: run.same_answers for run in runs(store.snapshot(), None).runs}
    assert (same[a], same[b], same[c]) == ([b], [], [])  # a withdrawn run is no other copy
    assert sum(map(bool, same.values())) == 1  # nor do the other runs share answers
