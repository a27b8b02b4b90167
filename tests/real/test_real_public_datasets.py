"""The checksums of public datasets are those of the files as released."""

import gzip
import hashlib
from pathlib import Path

import pytest

from data.downloadable_datasets import public_datasets

pytestmark = pytest.mark.real


@pytest.mark.parametrize(("key", "folder"), [("lifeeval", "lifeeval"), ("chaosnli-snli", "chaosnli")])
def test_checksums_are_those_of_the_released_files(shared, key, folder):
    released = {path.name.removesuffix(".gz"): path for path in Path(shared(folder)).rglob("*") if path.is_file()}
    for part in public_datasets()[key].imports:
        for file in part.files:
            content = (path := released[Path(file.path).name]).read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.bytes), file.path
