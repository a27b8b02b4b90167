"""A lab in which insiders work on a private dataset, and requests of outsiders that name what is private there.

Everything private has a name with ``canary`` in it. Each request is sent twice: with a private name, and with one of the same
length that nobody has. The answers must be the same, apart from the name.
"""

import json
import random
import re
import shutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import quote

from clueline.dashboard.access import signed_links
from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads import import_process
from clueline.data.store import open_store
from clueline.data.store.kept_mappings import keep_mapping
from clueline.data.store.run_withdrawal import withdraw
from clueline.data.store.scopes import of_dataset, of_owner
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import FACTS, RESPONSES, put, put_file, write
from tests.helpers.callback_body import callback_body

CANARY = "canary"
NUMBER = "8713579"  # digits of a private confidence
DATASET = "canary-set"
MODELS = ("canary-model-a", "canary-model-b")
CALLED = "canary-called"
# What is private, by kind; the ids of runs and selections are added when they are known.
NAMES = {
    "dataset": DATASET, "model": MODELS[0], "called": CALLED, "tag": "canary-tag", "value": "canary-value",
    "question": "canary-q1", "guess": "canary-guess", "grading": "canary-grading", "token": "canary-token",
    "category": "canary-category", "mapping": "canary-mapping", "own_mapping": "canary-mine",
}  # fmt: skip
USER = {"X-Remote-User": "kim"}
NAMELESS = {"theme", "embed", "version"}  # keys that name nothing
OWN = 5  # how often a request that names nothing private is among the others
CALLBACK = "/_dash-update-component"


def unknown(name):
    """Return a name of the same form and length that nobody has."""
    if re.fullmatch("[0-9a-f]+", name):
        return name[::-1] if name[::-1] != name else f"0{name[1:]}"
    return name.replace(CANARY, "canaly")  # in the same place of a list


def insiders_work(folder):
    """Return a lab: a server, a public dataset, and a private one on which insiders have done everything that has a name."""
    store = open_store(folder / "store", threads=1)
    put(store, write(folder / "toy", responses=RESPONSES), model="open-model")
    put_file(store, folder / "more.csv", RESPONSES.replace("0.25", "0.3"), dataset="toy", model="other-model")
    texts = {"q1": NAMES["question"], "Rome": NAMES["guess"], "0.25": f"0.{NUMBER}"}
    answers, bundle = RESPONSES, write(folder / "bundle", FACTS | {"dataset": DATASET, "title": "canary title"})
    for public, private in texts.items():
        answers = answers.replace(public, private)
    for path in bundle.glob("*.csv"):
        path.write_text(path.read_text().replace("q1", NAMES["question"]).replace("Places", NAMES["category"]))
    tokens = Tokens(store.register)
    secrets = {
        name: tokens.create(name, right)
        for name, right in (("ann", "upload"), (NAMES["token"], "upload"), ("bob", "upload"), ("rea", "read"), ("eve", "admin"))
    }
    tokens.make_private(DATASET, ["ann", NAMES["token"]])
    put(store, bundle)
    for number, model in enumerate((*MODELS, "open-model")):
        text = answers.replace("0.75", f"0.7{number}")
        put_file(store, folder / f"canary-{number}.csv", text, by=NAMES["token"], dataset=DATASET, model=model)
    lab = _served(folder / "store", {name: {"Authorization": f"Bearer {secret}"} for name, secret in secrets.items()})
    _change_everything(lab)
    return lab


def copy_of(lab, folder):
    """Return a server of a copy of the lab's store, which can be changed."""
    copied = _served(shutil.copytree(lab.store.url, folder / "copy"), lab.bearer)
    copied.names, copied.public = lab.names, lab.public
    return copied


def _served(store, bearer):
    settings = Settings(store=str(store), workers=1, user_header="X-Remote-User", trusted_proxies=("127.0.0.1",))
    app = create_app(settings)
    service = app.extensions["clueline"]
    service.import_file = lambda job: import_process.run_job(job, service.store)
    return SimpleNamespace(
        client=app.test_client(), store=service.store, tokens=service.access.tokens, names=dict(NAMES), bearer=bearer
    )


def _change_everything(lab):
    def call(path, body=None, method="POST", expected=200, by="ann"):
        data = body if isinstance(body, str) else None
        sent = {"data": data} if data else {"json": body}
        answer = lab.client.open(f"/api/v1/{path}", method=method, headers=lab.bearer[by], **sent)
        assert answer.status_code == expected, (path, answer.text)
        return answer.json

    runs = [row["run"] for row in call(f"runs?dataset={DATASET}", method="GET")["runs"]]
    (own, *_) = [row["run"] for row in call("runs?dataset=toy", method="GET")["runs"]]
    lab.public = {"dataset": "toy", "run": own, "model": "open-model", "question": "q1"}
    lab.names["run"] = runs[0]
    call(f"runs/{runs[0]}/tags", {NAMES["tag"]: NAMES["value"], "label": "canary-label"})
    grade = {"question_id": NAMES["question"], "guess": NAMES["guess"], "correct": True, "note": "canary-note"}
    call(f"runs/{runs[0]}/grades", {"grades": [grade]}, expected=201)
    call(f"runs/{runs[0]}/review", {"size": 1, "seed": 1}, expected=201)
    call("models/merge", {"models": list(MODELS), "into": MODELS[0]})
    call("models/describe", {"model": MODELS[0], "organisation": "canary-lab", "notes": "canary-notes"})
    call("models/rename", {"model": MODELS[0], "name": CALLED})
    call("models/merge", {"models": [CALLED, "open-model"], "into": CALLED})
    call("models/split", {"name": MODELS[1]})
    call("models/merge", {"models": [MODELS[1], CALLED], "into": CALLED})
    selection = f"dataset={DATASET}&category={NAMES['category']}"
    lab.names["selection"] = call("selections", selection, expected=201)["selection"]
    call("sessions", {"dataset": DATASET, "until": "2999-01-31", "questions": 1}, expected=201)
    toml = f'columns = ["canary-column"]\n\n[roles]\nguess = ["canary-column"]\n\n[words]\n{CANARY} = 0.{NUMBER}\n'
    keep_mapping(lab.store.files, NAMES["mapping"], toml, of_dataset(DATASET), "ann")
    keep_mapping(lab.store.files, NAMES["own_mapping"], toml, of_owner("ann"), "ann")
    assert {one["name"] for one in call("mappings", method="GET")["mappings"]} == {NAMES["mapping"], NAMES["own_mapping"]}
    withdraw(lab.store, runs[2], NAMES["token"], "canary-reason")
    for path in (f"runs/{lab.names['run']}", f"datasets/{DATASET}/readers"):
        call(path, method="DELETE", expected=403, by="rea")  # refused attempts, which the audit holds
    lab.tokens.revoke(NAMES["token"])


def outsiders(lab):
    """Return everybody who may not read the private dataset: headers, and keys that they add to an address."""
    key = lab.tokens.record().link_key or lab.tokens.new_link_key()
    until = datetime.now(UTC) + timedelta(days=1)
    keys = [("dataset", "toy"), ("metrics", "brier")]
    signed = signed_links.sign(key, "/api/v1/leaderboard", keys, "toy", until)
    return [
        ({}, ""), (lab.bearer["rea"], ""), (lab.bearer["bob"], ""), (USER, ""), ({}, f"signed={quote(signed, safe='')}"),
    ]  # fmt: skip


def requests_with_names(lab):
    """Yield method, address and body of requests with ``{NAME}`` in place of a private name, or of none."""
    described = lab.client.get("/api/v1/openapi.json").json["paths"]
    for path, operations in described.items():
        for method, operation in operations.items():
            for part in filter(_is_text, operation["parameters"]):
                yield method.upper(), _filled(lab, path, operation, part), None
            for body in BODIES.get(path, ()) if method == "post" else ():
                yield "POST", re.sub(r"{(\w+)}", lambda part: _own(lab, part[1]), path), body
            for _ in range(OWN if method == "get" else 0):
                yield "GET", _filled(lab, path, operation), None
    own = {"question": "/questions/toy/q1", "run": f"/runs/{lab.public['run']}", "model": "/models/open-model"}
    for page in PAGES.values():
        path = own.get(page.name, page.path)
        keys = {*Selection.kinds(), *page.parameters.kinds()} - NAMELESS
        for key in sorted(keys) if path.startswith("/") else ():
            yield "PAGE", f"{path}?{'' if key == 'dataset' else 'dataset=toy&'}{key}={{NAME}}", None
        for _ in range(OWN if path.startswith("/") else 0):
            yield "PAGE", f"{path}?dataset=toy" if path == page.path else path, None
    for path in ("/questions/{NAME}/q1", "/questions/toy/{NAME}", "/runs/{NAME}", "/models/{NAME}"):
        yield "PAGE", path, None


# Bodies of changes that nothing private may let through; in each, ``{NAME}`` is a private name or one that nobody has.
BODIES = {
    "/api/v1/models/merge": ['{"models": ["{NAME}"], "into": "x"}', '{"models": ["open-model", "{NAME}"], "into": "open-model"}'],
    "/api/v1/models/split": ['{"name": "{NAME}"}', '{"name": "open-model", "dataset": "{NAME}"}'],
    "/api/v1/models/dismiss": ['{"models": ["{NAME}", "open-model"]}'],
    "/api/v1/models/rename": ['{"model": "{NAME}", "name": "x"}'],
    "/api/v1/models/describe": ['{"model": "{NAME}", "notes": "x"}'],
    "/api/v1/selections": ["dataset={NAME}", "dataset=toy&run={NAME}", "dataset=toy&grading={NAME}", "dataset=toy&people={NAME}"],
    "/api/v1/sessions": ['{"dataset": "{NAME}", "until": "2999-01-31", "questions": 1}'],
    "/api/v1/runs/{run_id}/grades": ['{"grades": [{"question_id": "{NAME}", "guess": "Rome", "correct": true}]}',
                                     '{"grades": [{"question_id": "q1", "guess": "{NAME}", "correct": true}]}'],
    "/api/v1/runs/{run_id}/delete": ['{"name": "{NAME}"}'],
}  # fmt: skip


def _is_text(part):
    schema = part["schema"].get("items", part["schema"])
    return schema.get("type") == "string" and "enum" not in schema and part["name"] not in NAMELESS


def _own(lab, name):
    parts = {"dataset": "toy", "run_id": lab.public["run"], "question_id": "q1", "name": "open-model", "selection_id": "a" * 20}
    return parts.get(name, "x")


def _filled(lab, path, operation, probed=None):
    """Return an address in which one part or key is a private name, and the others are those of the public dataset."""
    name = probed and probed["name"]

    def value(match):
        return "{NAME}" if name == match[1] else _own(lab, match[1])

    asked = [one for one in operation["parameters"] if one["in"] == "query"]
    needed = {"a": lab.public["run"], "view": "%2F%3Fdataset%3Dtoy", "dataset": "toy"}
    keys = {one["name"]: needed.get(one["name"], "x") for one in asked if one.get("required") or one["name"] == "dataset"}
    if probed and probed["in"] == "query":
        keys[re.sub(r"\.[A-Z]+$", ".{NAME}", name)] = "{NAME}"
    query = "&".join(f"{key}={text}" for key, text in keys.items())
    return re.sub(r"{(\w+)}", value, path) + (f"?{query}" if query else "")


def send(lab, reader, method, address, body):
    """Send a request and return its status and text."""
    headers, more = reader
    path, _, query = address.partition("?")
    query = "&".join(filter(None, [query, more]))
    if method == "PAGE":
        answer = lab.client.post(CALLBACK, json=callback_body(path, query), headers=headers)
    else:
        answer = lab.client.open(f"{path}?{query}" if query else path, method=method, headers=headers, data=body)
    return answer.status_code, answer.data.decode("utf-8", "replace")


def leaks(text):
    """Return what a text shows of the private dataset."""
    return sorted(set(re.findall(rf"{CANARY}[\w -]*|{NUMBER}", text)))


def probe(lab, pairs):
    """Send pairs of requests that are drawn at random from all, each by some outsider, with a private and an unknown name.

    Returns how many requests were sent, how many were refused, and what is wrong with the answers.
    """
    chance, readers = random.Random(1), outsiders(lab)
    every = [(*request, kind) for request in requests_with_names(lab) for kind in lab.names]
    counts, faults = {"requests": len(every), "sent": 0, "refused": 0}, []
    for method, address, body, kind in chance.sample(every, pairs):
        reader, private, answers = chance.choice(readers), lab.names[kind], []
        for name in (private, unknown(private)):
            status, text = send(lab, reader, method, address.replace("{NAME}", name), body and body.replace("{NAME}", name))
            counts["sent"] += 1
            counts["refused"] += status >= 400
            answers.append((status, _without(text, name)))
        ids = [lab.names[other] for other in ("run", "selection") if lab.names[other] in answers[0][1]]
        shown = [*leaks(answers[0][1]), *ids]
        if shown or answers[0] != answers[1]:
            faults.append((method, address, body, kind, reader, shown, _difference(*answers)))
    return counts, faults


def _without(text, name):
    """Return a text in which a name, as it is or as JSON and addresses write it, and what depends on its length are the same."""
    text = re.sub(r'"(at|id|request_id)": ?"[^"]*"', "", text)
    text = re.sub(r'\\*"outline\\*": ?\\*"[0-9a-f]+', "", text)  # a digest of what is drawn, the name included
    return text.replace(name, "NAME").replace(json.dumps(name)[1:-1], "NAME")


def _difference(one, other):
    if one == other:
        return None
    place = next((place for place, pair in enumerate(zip(one[1], other[1], strict=False)) if pair[0] != pair[1]), 0)
    return one[0], other[0], one[1][max(0, place - 80) : place + 80], other[1][max(0, place - 80) : place + 80]
