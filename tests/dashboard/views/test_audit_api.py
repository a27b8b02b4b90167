"""The audit shows holders of tokens who changed what and who was refused. So does the log, and neither has a token in it."""

import json
import logging
from typing import get_args

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.data.store import register as registers
from clueline.data.store.audit import SCOPES, Action, Audit, AuditEvent, encode, is_shown, new_event, system_user
from clueline.data.store.register import FolderRegister
from clueline.data.store.run_tags import change_tags
from clueline.data.store.tokens_and_readers import Tokens

AUDIT = "/api/v1/audit"


@pytest.fixture
def taking(copied):
    app = create_app(Settings(store=str(copied), workers=1))
    app.tokens = Tokens(app.extensions["clueline"].store.register)
    app.secret = app.tokens.create("ann")
    app.bearer = {"Authorization": f"Bearer {app.secret}"}
    app.run_id = app.extensions["clueline"].facets("tone").runs[0][0]
    return app


def events(app, query="", reader=None):
    answer = app.test_client().get(f"{AUDIT}{query}", headers=reader or app.bearer)
    assert answer.status_code == 200, answer.text
    return answer.json["events"]


def test_a_withdrawal_is_listed_even_after_a_restore(taking):
    client, run = taking.test_client(), taking.run_id
    ben = {"Authorization": f"Bearer {taking.tokens.create('ben')}"}
    assert client.delete(f"/api/v1/runs/{run}", headers=taking.bearer).status_code == 200
    assert client.post(f"/api/v1/runs/{run}/restore", headers=ben).status_code == 200
    assert client.post(f"/api/v1/runs/{run}/restore", headers=ben).status_code == 200  # changes nothing
    taking.tokens.revoke("ben")
    admin = {"Authorization": f"Bearer {taking.tokens.create('eve', 'admin')}"}

    def actions(reader):
        listed = events(taking, "?limit=6", reader)
        return [(event["action"], event["by"], event.get("run") or event.get("token")) for event in listed]

    assert actions(admin)[1:] == [
        ("revoked_token", system_user(), "ben"), ("restored", "ben", run), ("withdrew", "ann", run),
        ("created_token", system_user(), "ben"), ("created_token", system_user(), "ann"),
    ]  # fmt: skip
    assert actions(taking.bearer)[:2] == [("restored", "ben", run), ("withdrew", "ann", run)]
    assert "created_token" not in [action for action, *_ in actions(taking.bearer)]


def test_a_run_published_by_a_command_is_listed(taking, cli, copied, tmp_path):
    (tmp_path / "run.csv").write_text("question_id,confidence,correct\nwork-01,0.5,1\n", encoding="utf-8")
    done = cli("import", tmp_path / "run.csv", "--dataset", "tone", "--model", "told", store=copied)
    assert done.returncode == 0, done.stderr
    (event,) = events(taking, "?limit=1")
    assert (event["action"], event["by"]) == ("published", system_user())
    assert taking.test_client().get(f"/api/v1/runs/{event['run']}").json["model"] == "told"


def test_each_refused_attempt_is_listed_without_its_token(taking, caplog, copied):
    client = taking.test_client()
    client.delete(f"/api/v1/runs/{taking.run_id}")
    client.post(f"/api/v1/runs/{taking.secret}/restore", headers={"Authorization": "Bearer clueline_" + "x" * 43})
    revoked = taking.tokens.create("gone")
    taking.tokens.revoke("gone")
    with caplog.at_level(logging.INFO, "clueline.audit"):
        client.delete(f"/api/v1/runs/{taking.run_id}", headers={"Authorization": f"Bearer {revoked}", "X-Request-ID": "12345678"})
    refused = [event for event in events(taking) if event["action"] == "refused"]
    assert [(event["reason"], event["by"]) for event in refused] == [
        ("revoked_token", "gone"), ("wrong_token", ""), ("no_token", ""),
    ]  # fmt: skip
    assert refused[0]["request_id"] == "12345678" and refused[0]["address"] == "127.0.0.1"
    assert refused[2]["attempt"] == "DELETE /api/v1/runs/<run_id>"
    admin = {"Authorization": f"Bearer {taking.tokens.create('root', 'admin')}"}
    whole = client.get("/api/v1/audit", headers=admin).json["events"]
    assert f"DELETE /api/v1/runs/{taking.run_id}" in [event.get("attempt") for event in whole]
    (line,) = [record.getMessage() for record in caplog.records if record.name == "clueline.audit"]
    assert json.loads(line.removeprefix("audit "))["id"] == refused[0]["id"]
    kept = b"".join(path.read_bytes() for path in copied.glob("*.jsonl"))
    assert kept and taking.secret.encode() not in kept and revoked.encode() not in kept


def test_events_come_page_by_page(taking):
    for number in range(3):
        change_tags(taking.extensions["clueline"].store, taking.run_id, {"number": str(number)}, None)
    client, listed, cursor = taking.test_client(), [], ""
    while cursor is not None:
        page = client.get(f"{AUDIT}?limit=2{cursor and f'&cursor={cursor}'}", headers=taking.bearer).json
        listed += page["events"]
        assert len(page["events"]) <= 2
        cursor = page["next"]
    assert listed == events(taking) and len(listed) >= 4


def test_refused_attempts_do_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(registers, "REFUSED_BYTES", 2000)
    audit = Audit(FolderRegister(tmp_path))
    audit.record("withdrew", "ann", dataset="toy", run="1")
    for number in range(100):
        audit.refuse("", attempt=str(number))
    last = audit.page(1000)
    assert last[0].attempt == "99" and last[-1].action == "withdrew" and len(last) < 60
    assert sum(path.stat().st_size for path in tmp_path.glob("refused*")) < 5000


def test_a_truncated_line_hides_no_other(tmp_path):
    audit = Audit(FolderRegister(tmp_path))
    audit.record("withdrew", "ann", dataset="toy", run="1")
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"id": "1')  # a process was killed while it wrote
    audit.record("restored", "ann", dataset="toy", run="1")
    assert [event.action for event in audit.page(10)] == ["restored", "withdrew"]


def test_a_refusal_that_cannot_be_stored_is_only_logged(tmp_path, caplog):
    Audit(FolderRegister(tmp_path / "nothing")).refuse("", attempt="DELETE /")
    assert "cannot be stored" in caplog.text and not open_store(tmp_path / "nothing").catalogues()


@pytest.mark.parametrize("action", get_args(Action))
def test_each_action_says_who_sees_it(action):
    """Whoever may read all of its datasets, everybody who may read the audit, or only tokens with the right ``admin``."""
    if SCOPES[action] != "readers":
        event = new_event(action, "ann", token="hush-token")
        assert is_shown(event, ["hush"], []) == (SCOPES[action] == "everybody")
        return
    with pytest.raises(ValueError, match="names no dataset"):
        new_event(action, "ann", run="1")
    for datasets in ([], ["toy"], ["hush"], ["hush", "toy"]):
        events = [new_event(action, "ann", datasets=datasets)] if datasets else []
        events += [new_event(action, "ann", dataset=datasets[0])] if len(datasets) == 1 else []
        assert all(is_shown(event, ["hush"], []) == ("hush" not in datasets) for event in events)
    earlier = AuditEvent("1", "2026", action, "ann", run="1")
    assert is_shown(earlier, ["hush"], ["1"]) and not is_shown(earlier, [], ["2"])
    assert not is_shown(AuditEvent("1", "2026", action, "ann", model="x"), [], ["1"])


def test_every_action_is_declared_once():
    assert {*SCOPES} == {*get_args(Action)}


def test_earlier_changes_of_models_are_for_administrators(taking):
    """It does not say on which datasets the model was."""
    register = taking.extensions["clueline"].store.register
    earlier = AuditEvent("0" * 20, "2026", "merged_models", "ann", model="hush", names="a, b")
    register.append_audit(encode([earlier]), refused=False)
    admin = {"Authorization": f"Bearer {taking.tokens.create('eve', 'admin')}"}
    assert "hush" not in json.dumps(events(taking, "?limit=1000"))
    assert "hush" in json.dumps(events(taking, "?limit=1000", admin))
