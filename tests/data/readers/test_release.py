"""Release folders as they are cloned: each part by its own reader, copies once, and what was not read is named."""

import json
import shutil

import pytest

from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.evaluation_logs import write_lines

LABELS = ("e", "n", "c")


def item(n):
    counts = dict(zip(LABELS, (60 + n, 30, 10 - n), strict=True))
    example = {"uid": f"u{n}", "premise": f"p {n}", "hypothesis": "h", "source": "snli_agree_0"}
    return {"uid": f"u{n}", "label_counter": counts, "label_count": [*counts.values()], "majority_label": "e", "example": example}


def test_several_bundles_in_a_folder_are_several_datasets(store, tmp_path):
    for n in range(3):
        bundles.write(tmp_path / "release" / f"set{n}", facts=bundles.FACTS | {"dataset": f"set{n}"})
    (tmp_path / "release" / "README.md").write_text("Three sets.")
    report = bundles.put(store, tmp_path / "release")
    assert sorted(report.datasets) == ["set0", "set1", "set2"]
    assert report.formats == ["release"]
    assert "release: 1 other files were not read: README.md" in report.warnings


def test_parts_are_read_by_their_own_readers_and_copies_once(store, tmp_path):
    folder = tmp_path / "release"
    path = write_lines(folder / "data" / "chaosNLI_snli.jsonl", [item(n) for n in range(4)])
    shutil.copy(path, folder / "copy.jsonl")
    write_lines(folder / "predictions" / "SNLI_roberta.jsonl", [{"uid": "u1", "index": 0, "probs": [0.5, 0.25, 0.25]}])
    report = bundles.put(store, folder)
    assert report.datasets == ["chaosnli-snli"]
    assert rows(store, "select count(*) from questions") == [(4,)]
    assert "release/data/chaosNLI_snli.jsonl: the same as release/copy.jsonl, read once" in report.lines
    (left_out,) = (warning for warning in report.warnings if warning.startswith("left out"))
    assert "release/predictions/SNLI_roberta.jsonl" in left_out


def test_a_folder_without_anything_readable_is_refused(store, tmp_path):
    write_lines(tmp_path / "release" / "SNLI_roberta.jsonl", [{"uid": "u1", "index": 0, "probs": [0.5, 0.25, 0.25]}])
    (reason,) = bundles.reasons(store, tmp_path / "release")
    assert reason.startswith("no part of it can be read without more being stated: release/SNLI_roberta.jsonl")


@pytest.mark.parametrize("name", ["data.json", "tossup.json"])
def test_copies_of_packets_are_read_once(store, tmp_path, name):
    packet = [{"qid": f"p1-t-{n}", "question": f"It is {n}. Name it.", "answerline": f"Lake {n}", "tokens": ["It", "is", f"{n}."]}
              for n in range(3)]  # fmt: skip
    (tmp_path / "qanta" / "tossup").mkdir(parents=True)
    for path in (tmp_path / "qanta" / "tossup.json", tmp_path / "qanta" / "tossup" / name):
        path.write_text(json.dumps(packet))
    report = bundles.put(store, tmp_path / "qanta")
    assert rows(store, "select count(*) from questions") == [(3,)]
    assert any("the same as" in line for line in report.lines)
