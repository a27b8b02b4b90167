"""Hypothesis strategies for selections of a dataset, as addresses can name them."""

from hypothesis import strategies as st

from clueline.queries.metrics import HUMAN_CURVES, Conventions
from clueline.queries.selection import CONVENTIONS, Selection

ENDS = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0]) | st.floats(0, 1)
RANGES = st.tuples(ENDS, ENDS).map(lambda ends: (min(ends), max(ends))).filter(lambda ends: ends != (0, 1))
TEXTS = st.sampled_from(["", "r0", "river", "ÉMILE", "100%", "_", "zebra", "' or 1=1 --"]) | st.text(max_size=8)


def some(values):
    """Draw none, one or several of these values, in any order."""
    return st.lists(st.sampled_from(values), unique=True, max_size=3).map(tuple) if values else st.just(())


def selections(facets):
    """Draw selections of the dataset with these facets, with each run on its own questions, and questions as units."""
    runs = [run for run, _, _ in facets.runs]
    return st.builds(
        Selection,
        dataset=st.just(facets.dataset),
        run=some(runs + list(facets.withdrawn)),
        model=some(facets.texts("model")),
        elicitation=some(facets.texts("elicitation")),
        category=some(facets.texts("category")),
        subcategory=some(facets.texts("subcategory")),
        difficulty=st.none() | RANGES,
        radius=some(facets.radii),
        revealed=st.none() | RANGES,
        q=TEXTS,
        failed=st.booleans(),
        cluster=st.just("question"),
        common=st.just(False),
        conventions=st.builds(
            Conventions,
            binning=st.sampled_from([*CONVENTIONS.keys["binning"].names, "mass2", "mass3", "mass100"]),
            human=st.sampled_from([None, *HUMAN_CURVES]),
            beta=st.just(1.0) | st.floats(0.001, 1000),
            t=st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9]) | st.floats(0, 0.99, allow_subnormal=False),
        ),
    )
