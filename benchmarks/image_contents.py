"""What a container image of Clueline consists of, by package; writes image_contents.md.

    python -m benchmarks.image_contents

Counts the files that the Dockerfile keeps of the packages in requirements.lock, as installed in this environment, and the files
that it copies from the checkout. The base image and compiled modules come on top. No image is built:
``docker build -t clueline .`` does that, and ``docker image inspect clueline`` shows its whole size.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePath

from benchmarks.measuring import machine, markdown_table

OUT = Path(__file__).with_suffix(".md")
ROOT = Path(__file__).parents[1]
WANTED = 500  # MB of the whole image
SHOWN = 15  # MB from which a package has its own row; smaller packages share one row


def is_kept(path: PurePath) -> bool:
    """Return whether the Dockerfile keeps a file: tests and source maps are deleted, and modules are compiled later."""
    return "tests" not in path.parts[:-1] and "__pycache__" not in path.parts and path.suffix not in (".map", ".pyc")


def package_sizes() -> Counter[str]:
    """Return the bytes of each locked package that this platform needs."""
    sizes: Counter[str] = Counter()
    for name in re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE):
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:  # for another platform or Python version
            continue
        for file in filter(is_kept, files):
            path = Path(str(file.locate()))
            sizes[name] += path.stat().st_size if path.is_file() else 0
    return sizes


def copied_size() -> int:
    """Return the bytes of what the Dockerfile copies from the checkout."""
    copies = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    places = [ROOT / source for copy in copies for source in copy.split()]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file() and is_kept(file.relative_to(ROOT)))


def main() -> None:
    """Count and write the table."""
    packages, ours = package_sizes(), copied_size()
    large = {name: size for name, size in packages.most_common() if size >= SHOWN * 1e6}
    rest = packages.total() - sum(large.values())
    total = packages.total() + ours
    rows = [
        *([f"`{name}`", f"{size / 1e6:.0f}"] for name, size in large.items()),
        [f"{len(packages) - len(large)} smaller packages", f"{rest / 1e6:.0f}"],
        ["Clueline: code, documents, bundled data", f"{ours / 1e6:.0f}"],
        ["**together**", f"**{total / 1e6:.0f}**"],
    ]
    verdict = "more than" if total > WANTED * 1e6 else "less than"
    lines = [
        "# Contents of the container image",
        "",
        f"Written by `benchmarks/image_contents.py`: {machine()}.",
        "MB on disk, without the base image (`python:3.13-slim`) and without compiled modules.",
        "",
        *markdown_table(["", "MB"], rows),
        "",
        f"The goal is {WANTED} MB for the whole image. This is {verdict} that, even without the base image.",
        "",
    ]
    print("\n".join(lines))
    OUT.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
