"""Changes of a store, made by processes that are killed at random moments, and what the store then holds."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.play_sessions.sessions import create_session, digest, join
from clueline.data.store import open_store
from clueline.data.store.audit import Audit
from clueline.data.store.kept_mappings import MAPPINGS, keep_mapping
from clueline.data.store.models import merge
from clueline.data.store.repair import damage_of
from clueline.data.store.run_withdrawal import withdraw
from clueline.data.store.scopes import STORE, of_owner
from clueline.data.store.stored_selections import SELECTIONS
from clueline.data.store.tokens_and_readers import Tokens, new_code
from clueline.data.store.watch_notes import WATCH_NOTES, write_notes
from tests.helpers.bundle_factory import RESPONSES, put, records, table, write

NAMES = ("opus-5", "lab/opus-5", "Opus-5-20251101", "sonnet")  # of models; the last one's run is withdrawn
PRELOADED = multiprocessing.get_context("forkserver")
PRELOADED.set_forkserver_preload(
    ["tests.helpers.killed_changes", "clueline.data.store.postgres_register", "clueline.data.store.s3_files"]
)
PLAYER = "0" * 32
KEPT = (SELECTIONS, MAPPINGS, WATCH_NOTES)
TOML = 'columns = ["x1", "x2"]\n\n[roles]\nconfidence = ["x1"]\ncorrect = ["x2"]\n'
RUN = "question_id,clue,guess,confidence\nq1,0,Oslo,0.5\n"


def call(app, method, path, body=None, *, by_ann=True):
    """Send a request, and return whether it succeeded."""
    given = {} if body is None else {"data": body if isinstance(body, str) else json.dumps(body)}
    headers = {"Authorization": f"Bearer {app.config['KNOWN']['token']}"} if by_ann else {}
    return app.test_client().open(path, method=method, headers=headers, **given).status_code < 400


def request(method, path, body=None, *, by_ann=True):
    """Return a change that is one request. Names in braces stand for what the change knows."""
    return lambda app: call(app, method, path.format(**app.config["KNOWN"]), body, by_ann=by_ann)


def play(path, **body):
    """Return a change that is a request of a player."""
    return lambda app: call(
        app, "POST", path, {"session": app.config["KNOWN"]["session"], "player": PLAYER, **body}, by_ann=False
    )


def command(change):
    """Return a change that a command makes."""

    def act(app):
        change(app.extensions["clueline"].store, app.config["KNOWN"])
        return True

    return act


def import_run(store, known):
    import_paths(store, [Path(known["file"])], ImportOptions(dataset="toy", model="gamma"))


GRADE = {"question_id": "q1", "guess": "Rome", "correct": True}
INVITATION = {"dataset": "toy", "until": "2100-01-31", "questions": 1}
# What is changed -> the action in the audit, None for what is in no audit, and how.
CHANGES = {
    "import of a run": ("published", command(import_run)),
    "withdraw": ("withdrew", request("DELETE", "/api/v1/runs/{first}", {"reason": "a bug"})),
    "restore": ("restored", request("POST", "/api/v1/runs/{last}/restore")),
    "delete": ("deleted", request("POST", "/api/v1/runs/{last}/delete", {"name": NAMES[-1]})),
    "tags and label": ("tagged", request("POST", "/api/v1/runs/{first}/tags", {"label": "after RLHF"})),
    "corrected grades": ("corrected_grades", request("POST", "/api/v1/runs/{first}/grades", {"grades": [GRADE]})),
    "answers drawn for review": ("drew_for_review", request("POST", "/api/v1/runs/{first}/review", {"size": 1, "seed": 1})),
    "merge of models": ("merged_models", request("POST", "/api/v1/models/merge", {"models": NAMES[:2], "into": NAMES[0]})),
    "split of a model": ("split_model", request("POST", "/api/v1/models/split", {"name": NAMES[2]})),
    "rename of a model": ("renamed_model", request("POST", "/api/v1/models/rename", {"model": NAMES[1], "name": "Opus"})),
    "notes on a model": ("described_model", request("POST", "/api/v1/models/describe", {"model": NAMES[0], "notes": "new"})),
    "dismissed proposal": ("dismissed_proposal", request("POST", "/api/v1/models/dismiss", {"models": NAMES[:2]})),
    "dataset made private": ("made_private", request("PUT", "/api/v1/datasets/toy/readers?reader=ann")),
    "dataset made public": ("made_public", request("DELETE", "/api/v1/datasets/other/readers")),
    "token created": ("created_token", command(lambda store, known: Tokens(store.register).create("kim"))),
    "token revoked": ("revoked_token", command(lambda store, known: Tokens(store.register).revoke("lee"))),
    "one-time login": ("created_token", request("GET", "/login?once={code}", by_ann=False)),
    "session of people": ("invited_players", request("POST", "/api/v1/sessions", INVITATION)),
    "player joins": (None, play("/api/v1/play", agreed=True)),
    "player erased": ("erased_answers", play("/api/v1/play/erase")),
    "mapping kept": (None, command(lambda store, known: keep_mapping(store.files, "lab", TOML, of_owner("ann"), "ann"))),
    "mapping published": (None, command(lambda store, known: keep_mapping(store.files, "lab", TOML, STORE, "ann"))),
    "notes on watched files": (None, command(lambda store, known: write_notes(store.files, "/logs", {"/logs/a.csv": {}}))),
    "stored selection": (None, request("POST", "/api/v1/selections", "dataset=toy&category=Places")),
}
# What is recorded just before it happens, so that a kill between the two leaves a record of what did not happen.
RECORDED_BEFORE = {"invited_players", "erased_answers"}


def receive(pipe):
    """Return what comes next through a pipe; None if its other end is gone."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return None


def serve(url, environment, change, pipe):
    """Make a change in a new process for everything that the pipe says the change knows. The process can be killed."""
    os.environ.update(environment)  # the process that forks may have an older environment
    app = create_app(Settings(store=url, workers=1))  # it opens the store at the first request, as after any fork
    while known := receive(pipe):
        app.config["KNOWN"] = known
        child = os.fork()
        if child == 0:
            app.extensions["clueline"].store.snapshot()
            pipe.send(("ready", os.getpid()))
            pipe.send(("done", CHANGES[change][1](app)))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        pipe.send(("gone", None))


class Killer:
    """A store of one address, one kind of change, and how often it was killed."""

    def __init__(self, url, folder, change):
        self.store, self.change, self.action = open_store(url, threads=1), change, CHANGES[change][0]
        answers = table([row | {"model": name} for name in NAMES for row in records(RESPONSES)])
        put(self.store, write(folder / "toy", responses=answers))
        self.runs = [run for (run,) in self.store.snapshot().rows("select run from runs order by position")]
        merge(self.store, NAMES[1:3], NAMES[1], None)
        withdraw(self.store, self.runs[-1], None)
        (folder / "run.csv").write_text(RUN)
        tokens = Tokens(self.store.register)
        tokens.create("lee")
        self.known = {"token": tokens.create("ann", "admin"), "first": self.runs[0], "last": self.runs[-1]}
        self.known |= {"file": str(folder / "run.csv"), "session": "", "code": ""}
        tokens.make_private("other", ["ann"])
        self.catalogue, self.tokens = self.store.pointer().name, self.store.register.read_tokens()
        self.durations, self.counts = [], Counter()
        self._after = None  # what the store holds after the change
        self._chance = random.Random(change)
        self._pipe, theirs = PRELOADED.Pipe()
        arguments = (url, dict(os.environ), change, theirs)
        self._server = PRELOADED.Process(target=serve, args=arguments, daemon=True)
        self._server.start()

    def try_change(self, *, killed=True):
        """Make the change, kill it if wanted, and check what is left."""
        self._prepare()
        before, recorded = self._contents(), self._events()
        self._pipe.send(self.known)
        step, process = self._pipe.recv()
        assert step == "ready"
        began = time.monotonic()
        if killed:
            self._pipe.poll(self._chance.uniform(0, 1) * min(self.durations))
            with suppress(ProcessLookupError):  # it was faster
                os.kill(process, signal.SIGKILL)
        acknowledged = False
        while (message := self._pipe.recv())[0] != "gone":
            acknowledged, took = message[1], time.monotonic() - began
        now = self._contents()
        if not killed:
            self.durations.append(took)
            assert acknowledged and now != before
            self._after = now
        assert now in (before, self._after), "a part of the change is there"
        changed = now == self._after
        self.counts[("acknowledged" if acknowledged else "after" if changed else "before") if killed else "finished"] += 1
        assert changed or not acknowledged, "the change was acknowledged, and is lost"
        for events in (self._events(), self._reset()):  # also after the next writer
            if self.action in RECORDED_BEFORE:
                assert recorded + changed <= events <= recorded + 1
            elif self.action:
                assert events == recorded + changed, "the audit is not what happened"

    def close(self):
        self._pipe.send(None)
        self._server.join()
        assert damage_of(self.store) is None
        self.store.close()

    def _prepare(self):
        log, until = self.store.register.play_log(), datetime.now(UTC) + timedelta(days=1)
        if self.change.startswith("player"):
            self.known["session"] = create_session(log, self.store.snapshot(), "toy", 1, 5, until, "yes")
        if self.change == "player erased":
            join(log, self.known["session"], PLAYER)
        if self.change == "one-time login":
            self.known["code"] = new_code(Tokens(self.store.register))
        self.sessions = len(log.tables().sessions)

    def _reset(self):
        """Undo the change, and return how many events there are now."""
        self.store.restore(self.catalogue)
        self.store.register.change_tokens(lambda _: (self.tokens, ()))
        for kept in KEPT:
            for name in kept.names(self.store.files):
                kept.remove(self.store.files, name)
        return self._events()

    def _events(self):
        return sum(event.action == self.action for event in Audit(self.store.register).page(100_000))

    def _contents(self):
        """Return everything in the store that one of the changes could touch, without times and random names."""
        snapshot = self.store.snapshot()
        runs = [run for (run,) in snapshot.rows("select run from runs order by position")]
        reviewed = snapshot.with_grading("reviewed")
        record = Tokens(self.store.register).record()
        log = self.store.register.play_log().tables()
        session = digest(self.known["session"])
        return (
            [
                snapshot.rows(f"select {columns} from {name} order by all")
                for name, columns in {
                    "model_names": "*",
                    "model_facts": "*",
                    "distinct_models": "*",
                    "runs": "run, model, withdrawn_at is null, withdrawn_by, withdrawn_reason",
                    "tags": "*",
                    "gradings": "*",
                    "corrections": "* exclude (corrected_at)",
                }.items()
            ],
            {
                run: rows.sort(rows.columns).rows()
                for run, rows in reviewed.read_runs("responses", runs, ["clue", "confidence", "correct"]).items()
            },
            [(token.name.rpartition("-")[0] or token.name, bool(token.revoked_at)) for token in record.tokens],
            record.private,
            [
                [(name, kept.read(self.store.files, name) is None) for name in sorted(kept.names(self.store.files))]
                for kept in KEPT
            ],
            len(log.sessions) - self.sessions,
            [(place, player.startswith("erased")) for owner, player, place in log.players if owner == session],
        )
