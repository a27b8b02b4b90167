"""Entry point of ``python -m clueline``."""

from clueline.dashboard.cli import main

if __name__ == "__main__":
    main(prog_name="clueline")
