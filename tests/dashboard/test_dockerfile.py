"""The Dockerfile, compose.yaml and the unit of systemd compared with the files of the project. No image is built here."""

import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from clueline.dashboard.settings import Settings, read_settings
from clueline.data.store.location import read_location
from tests.helpers.paths import ROOT

COPIES = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
SOURCES = [source for copy in COPIES for source in copy.split()]


@pytest.mark.parametrize("source", SOURCES)
def test_copied_files_exist_and_are_not_ignored(source):
    assert (ROOT / source).exists()
    assert f"!{source}" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()


def test_the_base_image_can_be_pinned():
    """By an argument before the first ``FROM``. Its default names a version of Python that we support."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    before, *_ = re.split(r"^FROM ", text, maxsplit=1, flags=re.MULTILINE)
    (default,) = re.findall(r"^ARG BASE=(\S+)$", before, re.MULTILINE)
    assert re.findall(r"^FROM (.+)$", text, re.MULTILINE) == ["${BASE}"]
    version = re.fullmatch(r"python:3\.(\d+)-slim(@sha256:[0-9a-f]{64})?", default)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert version and int(version[1]) >= int(project["requires-python"].removeprefix(">=3."))


def test_the_documentation_pins_the_base_image():
    text = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    (default,) = re.findall(r"^ARG BASE=(\S+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    command = 'docker build --build-arg BASE="$base" -t clueline .'
    assert command in text and f"docker pull {default}\n" in text and f"{{{{index .RepoDigests 0}}}}' {default})" in text


def test_files_needed_to_run_are_copied():
    assert {"assets", "dashboard", "data", "queries", "pyproject.toml", "requirements.lock"} <= set(SOURCES)


@pytest.fixture(scope="module")
def services():
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    text = re.sub(r"\$\{\w+:\?\}", "secret", text)
    text = re.sub(r"\$\{\w+:-([^}]+)\}", r"\1", text)
    return yaml.safe_load(text)["services"]


def test_the_settings_of_compose_are_settings(services, monkeypatch):
    for name in ("web-a", "web-b"):
        environment = services[name]["environment"]
        with monkeypatch.context() as patch:
            for variable, value in environment.items():
                patch.setenv(variable, value)
            settings = read_settings()
            location = read_location(settings.store)
        assert (settings.store, settings.uploads) == (environment["CLUELINE_STORE"], "token")
        assert location.files.url == "s3://clueline/store" and location.local.as_posix() == "/store"
        assert "secret" not in location.place
        assert services[name]["read_only"] and set(services[name]["depends_on"]) < set(services)


def test_the_grace_period_of_compose_covers_draining(services):
    assert services["web-a"]["stop_grace_period"] == "31m"
    assert Settings().drain_seconds <= 30 * 60


def test_the_proxy_of_compose_knows_the_servers(services):
    text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    servers = [name for name in services if name.startswith("web-")]
    assert re.findall(r"server (web-\w):8050 max_fails=1", text) == servers == re.findall(r"server (web-\w):8050 .* backup", text)
    assert services["nginx"]["volumes"] == ["./deploy/nginx.conf:/etc/nginx/nginx.conf:ro"]
    assert services["nginx"]["ports"] == ["127.0.0.1:8080:8080"] and "listen 8080;" in text


def test_images_of_others_have_a_version(services):
    images = {service["image"] for name, service in services.items() if not name.startswith("web")}
    assert len(images) == 5 and all(re.search(r":[\w.]*\d", image) for image in images), images


UNIT = ROOT / "deploy" / "clueline.service"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_service_is_hardened():
    result = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=15", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-300:] + result.stderr


def test_the_service_waits_as_long_as_the_server():
    lines = dict(line.split("=", 1) for line in UNIT.read_text(encoding="utf-8").splitlines() if re.match(r"\w+=", line))
    minutes = int(lines["TimeoutStopSec"].removesuffix("min"))
    assert lines["ExecStart"].endswith("/bin/clueline serve") and minutes * 60 > Settings().drain_seconds
    given = dict(item.split("=", 1) for item in lines["Environment"].split())
    assert read_settings(given).store == f"/var/lib/{lines['StateDirectory']}"
