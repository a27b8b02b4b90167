"""Builds the wheel: the packages of the checkout become parts of one package, ``clueline``, so that nothing else is installed.

The checkout keeps its packages ``dashboard``, ``queries`` and ``data``; names like these would collide in site-packages. So the
build writes their modules anew, with ``clueline.`` before them in imports and in names of modules, and with the command
``clueline`` in messages and documents. No path is changed while the program runs.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
NAME = "clueline"
PACKAGES = ("dashboard", "queries", "data")
BESIDE = ("assets", "docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff", "pyproject.toml")
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc")
IMPORT = re.compile(rf"^(\s*)from ({'|'.join(PACKAGES)})(?=[. ])(?=\S* import )", re.MULTILINE)
WHOLE_PACKAGE = re.compile(rf"^(\s*)import ({'|'.join(PACKAGES)})$", re.MULTILINE)
MODULE = re.compile(rf'"((?:{"|".join(PACKAGES)})(?:\.[A-Za-z_]\w*)+(?::\w+)?)"')
COMMAND = re.compile(r"(?:\.venv/bin/)?python -m dashboard\b(?!\.)")
INIT = '''"""Clueline: how well language models know what they know. ``Client`` reads a server; ``clueline`` is the command."""

from clueline.dashboard.client import Client

__all__ = ["Client"]
'''
MAIN = '''"""Entry point of ``python -m clueline``."""

from clueline.dashboard.cli import main

if __name__ == "__main__":
    main(prog_name="clueline")
'''


def rewritten(source: str) -> str:
    """Return a module, or a document, as it is within the package.

    Example:
        >>> rewritten('from data.store import Store')
        'from clueline.data.store import Store'
        >>> rewritten('run "python -m dashboard serve"')
        'run "clueline serve"'
    """
    source = IMPORT.sub(rf"\1from {NAME}.\2", source)
    source = WHOLE_PACKAGE.sub(rf"\1from {NAME} import \2", source)
    source = MODULE.sub(lambda named: f'"{NAME}.{named[1]}"' if _is_module(named[1]) else named[0], source)
    return COMMAND.sub(NAME, source)


def _is_module(named: str) -> bool:
    """Whether a text names a module of the checkout, or something in one."""
    path = ROOT.joinpath(*named.partition(":")[0].split("."))
    return any(one.with_suffix(".py").exists() or (one / "__init__.py").exists() for one in (path, path.parent))


def write_package(folder: Path) -> None:
    """Write the package into a folder that does not exist."""
    for name in (*PACKAGES, *BESIDE):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=NOT_SHIPPED)
        else:
            shutil.copy2(source, folder / name)
    for path in (*folder.rglob("*.py"), *folder.rglob("*.md")):
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "__init__.py").write_text(INIT, encoding="utf-8")
    (folder / "__main__.py").write_text(MAIN, encoding="utf-8")


class PackageHook(BuildHookInterface[Any]):
    """Puts the package into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package into a folder of its own, and include that."""
        self.folder = tempfile.mkdtemp()
        write_package(Path(self.folder) / NAME)
        build_data["force_include"][str(Path(self.folder) / NAME)] = NAME

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)
