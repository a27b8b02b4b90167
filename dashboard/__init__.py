"""The Dash app, its pages and its JSON addresses."""

import sys
from importlib.util import find_spec

# DuckDB imports pandas for each value of a query's parameters, to see whether the value is pandas.NaT. Where pandas is not
# installed, Python searches all folders of its path each time: 0.7 s for a list of 10,000 runs. None ends the search at once,
# as Python documents for sys.modules.
if find_spec("pandas") is None:
    sys.modules["pandas"] = None  # type: ignore[assignment]
