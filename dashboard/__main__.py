"""``python -m dashboard``: in the checkout, the command ``clueline``, also where the package was not installed."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1] / "scripts" / "package")

if __name__ == "__main__":
    if find_spec("clueline") is None:
        sys.path.insert(0, PACKAGE)
        # Servers and imports start processes of their own.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH")]))
    from clueline.dashboard.cli import main

    main(prog_name="clueline")
