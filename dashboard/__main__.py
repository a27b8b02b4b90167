"""Entry point of ``python -m dashboard``."""

from dashboard.cli import main

if __name__ == "__main__":
    main(prog_name="python -m dashboard")
