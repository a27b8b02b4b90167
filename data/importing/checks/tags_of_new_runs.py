"""Tags of the runs of an import: those that the analyst states for all runs, and those in a bundle."""

from __future__ import annotations

from data.importing.report import Problem
from data.importing.staging import ImportOptions, Staging
from data.store.run_tags import MAX_TAGS


def tag_runs(staging: Staging, options: ImportOptions) -> None:
    """Fill ``new_tags`` for new runs. Stored runs keep their tags, and a warning says so. Raises ``Refused`` for bad tags."""
    run = staging.connection.execute
    if not options.tags and not staging.has("tags"):
        return
    staging.report_repeats(
        "tags", "tag", ("dataset", "model", "elicitation", "tag"), "this tag of the run is in the file already"
    )
    staging.report_rows(
        "tags_read", "model", "s.model || ', ' || s.elicitation", "'no such run in this bundle'",
        "anti join numbered_runs n using (dataset, model, elicitation)",
    )  # fmt: skip
    run("create table stated_tags (tag varchar, value varchar)")
    if options.tags:
        staging.connection.executemany("insert into stated_tags values (?, ?)", [[*pair] for pair in dict(options.tags).items()])
    # A tag that the analyst states overrides the one in a bundle.
    run("""
        create table tags_of_runs as
        with given as (
            select n.n, t.tag, t.value, 0 as place from numbered_runs n cross join stated_tags t
            union all select n.n, t.tag, t.value, 1 as place from tags_read t
                join numbered_runs n using (dataset, model, elicitation)
        )
        select n, trim(tag) as tag, trim(arg_min(value, place)) as value from given group by all""")
    crowded = run("select count(*) from tags_of_runs group by n having count(*) > $most limit 1", {"most": MAX_TAGS}).fetchone()
    if crowded:
        files = staging.connection.execute("select min(file) from tags_read").fetchall()
        name = "tags" if files[0][0] is None else staging.files[files[0][0]].name
        staging.report.problems.append(Problem(name, None, "tag", None, f"a run has at most {MAX_TAGS} tags"))
    staging.report.raise_problems()
    if len(staging.report.stored) < len(staging.report.runs):
        run("""insert into new_tags by name
            select s.dataset, s.run, t.tag, t.value from tags_of_runs t join runs_to_store s using (n) order by s.n, t.tag""")
    _warn_of_kept_tags(staging)


def _warn_of_kept_tags(staging: Staging) -> None:
    stored, run = {*staging.report.stored}, staging.connection.execute
    numbers = [number for (number,) in run("select n from numbered_runs order by n").fetchall()]
    for number, name in zip(numbers, staging.report.runs, strict=True):
        if name in stored:
            given = dict(run("select tag, value from tags_of_runs where n = $n", {"n": number}).fetchall())
            kept = dict(run("select tag, value from store.tags where run = $run", {"run": name}).fetchall())
            other = sorted(tag for tag, value in given.items() if kept.get(tag) != value)
            if other:
                staging.report.warnings.append(f"run {name} is already stored and keeps its tags; not added: {', '.join(other)}")
