"""gunicorn forks its workers: modules that do not survive a fork must not be imported before."""

import subprocess
import sys


def test_the_server_is_imported_without_duckdb_and_polars():
    modules = "dashboard.process.server, dashboard.http.slow_clients"
    script = f"import sys, {modules}; print(sorted({{'duckdb', 'polars'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
