"""The lock file: its software bill of materials is valid CycloneDX, and its audit tells no findings from no audit."""

import json
import os
import re
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(("answers", "status", "words"), [
    ({"canary": "PYSEC-2018-66", "requirements.lock": "No known vulnerabilities found"}, 0, "No known vulnerabilities found"),
    ({"canary": "GHSA-562c-5r94-xh97", "requirements.lock": "CVE-2026-1 in dash"}, 1, "CVE-2026-1 in dash"),
    ({"canary": "No known vulnerabilities found", "requirements.lock": "No known"}, 0, "were not audited"),
    ({}, 0, "run: scripts/audit-dependencies requirements.lock"),
])  # fmt: skip
def test_an_audit_is_not_passed_without_advisories(tmp_path, answers, status, words):
    program = tmp_path / "pip-audit"
    cases = "".join(f"*/{file}) echo '{text}'; case '{text}' in No*) exit 0;; esac; exit 1;; " for file, text in answers.items())
    program.write_text(f'#!/bin/sh\nfor last; do :; done\ncase "$last" in {cases}*) exit 1;; esac\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([ROOT / "scripts" / "audit-dependencies"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status and words in done.stdout, done.stdout
