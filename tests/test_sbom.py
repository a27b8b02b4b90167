"""The software bill of materials is valid CycloneDX and matches the lock file."""

import json
import re
import subprocess
import sys

from tests.helpers.paths import ROOT


def test_the_sbom_matches_the_lock(tmp_path):
    lock, target = ROOT / "requirements.lock", tmp_path / "sbom.json"
    command = [sys.executable, str(ROOT / "scripts" / "write-sbom"), str(lock), str(target)]
    subprocess.run(command, check=True, capture_output=True)  # the script checks it against the schema before writing it
    document = json.loads(target.read_text(encoding="utf-8"))
    pinned = dict(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert {part["name"]: part["version"] for part in document["components"]} == pinned
    assert all(part["hashes"] for part in document["components"])
    needs = {row["ref"]: row.get("dependsOn", []) for row in document["dependencies"]}
    (product,) = [ref for ref in needs if ref.startswith("clueline@")]
    assert f"pkg:pypi/flask@{pinned['flask']}" in needs[f"pkg:pypi/dash@{pinned['dash']}"]
    assert f"pkg:pypi/dash@{pinned['dash']}" in needs[product]
