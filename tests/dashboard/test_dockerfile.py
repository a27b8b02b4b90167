"""The Dockerfile and compose.yaml compared with the files of the project. No image is built here."""

import re

import pytest
import yaml

from dashboard.settings import Settings, read_settings
from data.store.location import read_location
from tests.helpers.paths import ROOT

COPIES = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
SOURCES = [source for copy in COPIES for source in copy.split()]


@pytest.mark.parametrize("source", SOURCES)
def test_copied_files_exist_and_are_not_ignored(source):
    assert (ROOT / source).exists()
    assert f"!{source}" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()


def test_files_needed_to_run_are_copied():
    assert {"assets", "dashboard", "data", "queries", "pyproject.toml", "requirements.lock"} <= set(SOURCES)


@pytest.fixture(scope="module")
def services():
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    for variable, value in (
        ("POSTGRES_PASSWORD:?", "secret"),
        ("S3_PASSWORD:?", "secret"),
        ("CLUELINE_HOSTS:-localhost", "localhost"),
    ):
        text = text.replace(f"${{{variable}}}", value)
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
