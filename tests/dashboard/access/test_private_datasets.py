"""Read access: without a token nothing can be read, and others do not even learn the name of a private dataset."""

import html
import io
import json
import re
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import parse_qsl, quote

import pytest

from clueline.dashboard import shell as app_shell
from clueline.dashboard.access import signed_links
from clueline.dashboard.access.providers.token import COOKIE
from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads import import_process
from clueline.data.store import open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.bundle_factory import RESPONSES, put, write
from tests.helpers.callback_body import callback_body
from tests.helpers.outsider_probes import CALLED, DATASET, MODELS, USER, copy_of, insiders_work, leaks, probe, send, unknown

SECRET = "hush-hush"  # the id, also part of the title, the models, the questions and the answers
OF_LOGIN = {"/login", "/login/oidc", "/login/oidc/done", "/logout"}
OPEN_ADDRESSES = {"/healthz", "/readyz", "/_dash-layout", "/_dash-dependencies", "/play"} | OF_LOGIN
# Opened by the secret in the link of a session.
OF_SESSIONS = {f"/api/v1/play{path}" for path in ("", "/answers", "/words", "/models", "/result", "/erase")}
CALLBACK = "/_dash-update-component"
FACTS = {"dataset": SECRET, "title": f"{SECRET} title", "kind": "incremental"}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server for holders of tokens, with one public dataset and one private to ann."""
    folder = tmp_path_factory.mktemp("lab")
    store = open_store(folder / "store")
    put(store, write(folder / "public", FACTS | {"dataset": "toy", "title": "Toy"}, responses=RESPONSES), model="open-model")
    named = RESPONSES.replace("Paris", f"{SECRET} Paris")
    put(store, write(folder / "secret", FACTS, responses=named), model=f"{SECRET}-model")
    tokens = Tokens(store.register)
    secrets = {name: tokens.create(name, right) for name, right in (("ann", "read"), ("bob", "upload"), ("eve", "admin"))}
    tokens.make_private(SECRET, ["ann"])
    app = create_app(Settings(store=store.url, workers=1, read="token", prometheus="on"))
    service = app.extensions["clueline"]
    service.import_file = lambda job: import_process.run_job(job, service.store)
    runs = {row[0]: row[1] for row in store.snapshot().rows("select dataset, run from runs")}
    return SimpleNamespace(
        app=app, client=app.test_client(), store=store, service=service, tokens=tokens, runs=runs, folder=folder,
        **{name: bearer(token) for name, token in secrets.items()}, cookie=f"{COOKIE}={secrets['ann']}",
    )  # fmt: skip


def logged_in(lab, name):
    """Return a browser that has the cookie of a token."""
    client = lab.app.test_client()
    client.set_cookie(COOKIE, getattr(lab, name)["Authorization"].split()[1])
    return client


def draw(client, path, query="", **more):
    """Return the drawing of a page as text."""
    body = callback_body(path, query)
    with client.application.test_request_context(CALLBACK, method="POST", json=body, **more):
        return json.dumps(json.loads(app_shell.draw(body["inputs"][0]["value"])), ensure_ascii=False)


def addresses(lab, dataset):
    """Yield method, rule and address of every route of the server, filled in for a dataset."""
    items = {
        "dataset": dataset,
        "run_id": lab.runs[dataset],
        "question_id": "q1",
        "path": "runs",
        "rest": "v9",
        "fingerprint": "x",
    }
    for rule in lab.app.url_map.iter_rules():
        known = {name: items.get(name, "dash/dash.js") for name in rule.arguments if name not in (rule.defaults or {})}
        for method in sorted(rule.methods - {"HEAD", "OPTIONS"}):
            adapter = lab.app.url_map.bind("localhost")
            path = adapter.build(rule.endpoint, known | dict(rule.defaults or {}), method=method)
            queries = [""] if rule.arguments - {"path", "rest"} else ["", f"?dataset={dataset}"]
            for query in queries:
                yield method, rule.rule, path + query


def pages(lab, dataset):
    """Yield path and query of every page, with and without the dataset in the query."""
    for page in PAGES.values():
        path = {"question": f"/questions/{dataset}/q1", "run": f"/runs/{lab.runs[dataset]}"}.get(page.name, page.path)
        if not path.startswith("/"):
            continue  # shown where there is no page
        yield path, "" if page.name in ("question", "run") else f"dataset={dataset}"
        yield path, ""


def test_without_a_token_no_address_gives_anything(lab):
    checked = 0
    for method, rule, path in addresses(lab, SECRET):
        if rule in OPEN_ADDRESSES or rule.startswith(("/assets/", "/_dash-component-suites", CALLBACK)):
            continue
        answer = lab.client.open(path, method=method)
        if answer.status_code == 303:
            pages = ("/", "/<path:path>", "/api", "/docs", "/docs/<path:name>")
            assert rule in pages and answer.headers["Location"].startswith("/login?next=%2F"), path
        elif rule in OF_SESSIONS and method == "POST":
            assert answer.status_code == 400 and not seen(answer.text), path
        else:
            assert answer.status_code == 401, (method, path, answer.status_code)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        checked += 1
    assert checked > 60


def test_without_a_token_no_page_is_drawn(lab):
    for path, query in pages(lab, SECRET):
        text = draw(lab.client, path, query)
        assert "/login?next=" in text and not seen(text)
        assert "open-model" not in text and "Toy" not in text


def test_only_readers_can_cite_a_private_view(lab):
    for view in (f"/?dataset={SECRET}", f"/runs/{lab.runs[SECRET]}", f"/questions/{SECRET}/q1"):
        address = f"/api/v1/cite?view={quote(view, safe='')}"
        assert lab.client.get(address, headers=lab.ann).status_code == 200
        refused = lab.client.get(address, headers=lab.bob)
        assert refused.status_code in (400, 404) and not seen(refused.text)


def seen(text):
    """Return what an answer reveals of the private dataset. Its id does not count, since the request itself may name it."""
    return [part for part in (f"{SECRET} title", f"{SECRET}-model", f"{SECRET} Paris") if part in text]


def test_a_dataset_of_others_does_not_exist_on_any_address(lab):
    """Neither where it is asked for by name nor anywhere else."""
    by_name, elsewhere = 0, 0
    for method, rule, path in [*addresses(lab, SECRET), *addresses(lab, "toy")]:
        if method != "GET" or rule.startswith(("/assets/", "/_dash-component-suites")):
            continue
        answer = lab.client.get(path, headers=lab.bob)
        text = answer.data.decode("utf-8", "replace")
        assert not seen(text), path
        if SECRET in path or lab.runs[SECRET] in path:
            by_name += 1
            if path.startswith("/api/"):
                assert 400 <= answer.status_code < 405, path
                text = json.dumps(answer.json["error"]["allowed"])  # the message quotes what was asked for
        else:
            elsewhere += 1
        if rule != "/login":
            assert SECRET not in text and lab.runs[SECRET] not in text, path
    assert by_name > 50 and elsewhere > 50


def test_a_dataset_of_others_does_not_exist_on_any_page(lab):
    for path, query in [*pages(lab, "toy"), ("/runs", "dataset=toy&show=all"), ("/runs", "show=all")]:
        text = draw(lab.client, path, query, headers=lab.bob)
        assert SECRET not in text and lab.runs[SECRET] not in text, path
    for path, query in pages(lab, SECRET):
        text = draw(lab.client, path, query, headers=lab.bob)
        assert not seen(text), path
        if SECRET in query or "/questions/" in path:
            assert "no dataset" in text, path


def test_readers_see_all_of_a_private_dataset(lab):
    for client, reader in ((lab.client, lab.ann), (lab.client, lab.eve), (logged_in(lab, "ann"), {"Cookie": lab.cookie})):
        assert SECRET in client.get("/api/v1/datasets", headers=reader).text
        assert f"{SECRET}-model" in client.get(f"/api/v1/leaderboard?dataset={SECRET}", headers=reader).text
        assert f"{SECRET} Paris" in client.get(f"/api/v1/runs/{lab.runs[SECRET]}/responses.csv", headers=reader).text
        assert f"{SECRET} title" in draw(lab.client, "/", f"dataset={SECRET}", headers=reader)


def test_a_cached_answer_is_only_for_its_readers(lab):
    for address in ("/api/v1/runs", f"/api/v1/runs/{lab.runs[SECRET]}", "/api/v1/datasets", "/api/v1/leaderboard"):
        for _ in range(2):
            assert SECRET in lab.client.get(address, headers=lab.eve).text or address.endswith("leaderboard")
            assert SECRET not in lab.client.get(address, headers=lab.bob).text
        assert "private" in lab.client.get(address, headers=lab.eve).headers["Cache-Control"]


def test_nobody_uploads_into_a_dataset_of_others(lab):
    def upload(content, query, address="/api/v1/runs", status=422):
        answer = lab.client.post(f"{address}?{query}", data=content, headers=lab.bob)
        assert answer.status_code == status, answer.text
        return answer.text

    refused = upload(RESPONSES.encode(), f"dataset={SECRET}&model=x", status=400)
    assert re.search(r'"allowed":\["toy"\]', refused)
    refused = upload(RESPONSES.encode(), f"dataset={SECRET}&model=x", "/api/v1/datasets")
    assert not seen(refused) and "q1" not in refused
    bundle = write(lab.folder / "other", FACTS | {"title": "Other"}, responses=RESPONSES)
    (bundle / "dataset.json").write_text(json.dumps(FACTS | {"title": "Other"}))
    packed = io.BytesIO()
    import zipfile

    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(bundle.rglob("*")):
            archive.write(path, path.relative_to(bundle))
    for query in ("dry_run=1&model=x", "model=x"):
        refused = upload(packed.getvalue(), query, "/api/v1/datasets")
        assert "cannot be used" in refused and not seen(refused)
    assert len(lab.store.snapshot().states) == 2


def test_nobody_withdraws_a_run_of_others(lab):
    run = lab.runs[SECRET]
    for method, path in (
        ("DELETE", f"/api/v1/runs/{run}"),
        ("POST", f"/api/v1/runs/{run}/restore"),
        ("POST", f"/api/v1/runs/{run}/grades"),
        ("POST", f"/api/v1/runs/{run}/review"),
    ):
        bodies = {"grades": {"grades": [{"question_id": "q1", "guess": "Rome", "correct": True}]}, "review": {"size": 5}}
        body = bodies.get(path.rpartition("/")[2])
        assert lab.client.open(path, method=method, headers=lab.bob, json=body).status_code == 404
    assert lab.client.get(f"/api/v1/runs/{run}", headers=lab.ann).json["withdrawn_at"] is None


def test_the_audit_hides_a_private_dataset_from_others(lab):
    assert SECRET not in lab.client.get("/api/v1/audit?limit=1000", headers=lab.bob).text
    assert SECRET in lab.client.get("/api/v1/audit?limit=1000", headers=lab.eve).text


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """A server with a private dataset on which insiders have changed and named everything."""
    return insiders_work(tmp_path_factory.mktemp("worked"))


def test_outsiders_learn_nothing_from_a_sample_of_requests(worked):
    """``make test-hostile`` sends more than 5,000."""
    counts, faults = probe(worked, 150)
    print(counts)
    assert not faults and counts["sent"] == 300 and counts["refused"] > 50


@pytest.mark.slow
def test_outsiders_learn_nothing_from_thousands_of_requests(worked):
    counts, faults = probe(worked, 2600)
    print(counts)
    assert not faults and counts["sent"] == 5200 and counts["refused"] > 1000


def test_the_page_of_a_model_says_who_sees_what_is_stated_there(worked):
    for name, who, told in ((CALLED, "ann", True), ("open-model", "bob", False)):
        _, text = send(worked, (worked.bearer[who], ""), "PAGE", f"/models/{name}", None)
        assert name in text and ("everybody can read Toy" in text) == told


@pytest.fixture
def changing(worked, tmp_path):
    """A copy of it, which a test may change."""
    return copy_of(worked, tmp_path)


def as_outsider(lab, path, headers, **body):
    answer = lab.client.post(f"/api/v1/models/{path}", headers=headers, json=body)
    return answer.status_code, answer.text


def models_of(lab, headers):
    return {row["model"]: row for row in lab.client.get("/api/v1/models", headers=headers).json["models"]}


@pytest.mark.parametrize("private", [CALLED, MODELS[1]])
def test_a_private_name_is_free_to_outsiders(changing, private):
    """An uploader gives it to a model of their own, and neither gets the private one nor changes it."""
    before, answers = models_of(changing, changing.bearer["ann"])[CALLED], []
    for headers in (changing.bearer["bob"], USER):
        for name in (private, unknown(private)):
            for path, body in (
                ("rename", {"model": "other-model", "name": name}),
                ("describe", {"model": name, "notes": "mine"}),
                ("rename", {"model": name, "name": "other-model"}),
                ("merge", {"models": ["other-model"], "into": name}),
                ("dismiss", {"models": [name]}),
                ("split", {"name": name}),
                ("rename", {"model": name, "name": "other-model"}),
                ("describe", {"model": "other-model", "notes": None}),
            ):
                answer = as_outsider(changing, path, headers, **body)
                answers.append((answer[0], answer[1].replace(name, "NAME")))
        half = len(answers) // 2
        assert answers[:half] == answers[half:] and not any(leaks(text) for _, text in answers)
        assert [status for status, _ in answers[:half]] == [200] * 5 + [404] + [200] * 2
        answers.clear()
    assert models_of(changing, changing.bearer["ann"])[CALLED] == before
    assert before["notes"] == "canary-notes" and before["names"] == [*MODELS, "open-model"]


TIMED = 200  # answers for each name


def told_apart(private, unknown):
    """Return how well a threshold on times tells two kinds of answers apart: the area under its ROC curve, at least 1/2."""
    ranks = {time: rank for rank, time in enumerate(sorted([*private, *unknown]), 1)}
    wins = sum(ranks[time] for time in private) - len(private) * (len(private) + 1) / 2
    area = wins / (len(private) * len(unknown))
    return max(area, 1 - area)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["read", "describe", "rename", "merge"])
def test_times_do_not_tell_private_names_from_unknown_ones(changing, kind):
    """The two take turns, so that a busy machine slows both down."""
    bob, times = changing.bearer["bob"], {CALLED: [], unknown(CALLED): []}
    bodies = {
        "describe": lambda name: {"model": name, "notes": "mine"},
        "rename": lambda name: {"model": "other-model", "name": name},
        "merge": lambda name: {"models": ["other-model"], "into": name},
    }
    for turn in range(2 * TIMED + 10):
        name = [*times][(turn + turn // 2) % 2]  # neither is always the one after a change of the other
        began = time.perf_counter_ns()
        if kind == "read":
            status = changing.client.get(f"/api/v1/models/{name}", headers=bob).status_code
        else:
            status, _ = as_outsider(changing, kind, bob, **bodies[kind](name))
        took = time.perf_counter_ns() - began
        assert status == (404 if kind in ("read", "describe") else 200)
        if turn >= 10:
            times[name].append(took)
        if status == 200:
            assert as_outsider(changing, "rename", bob, model=name, name="other-model")[0] == 200
    area = told_apart(*times.values())
    print(f"{kind}: AUC {area:.3f} of {TIMED} times each")
    assert area <= 0.6


def test_readers_of_two_models_of_one_name_are_asked_which(changing):
    as_outsider(changing, "rename", changing.bearer["bob"], model="other-model", name=CALLED)
    client, ann = changing.client, changing.bearer["ann"]
    listed = [label for label in models_of(changing, ann) if label.startswith(CALLED)]
    assert len(listed) == 2 and all(" (" in label for label in listed)
    refused = client.get(f"/api/v1/models/{CALLED}", headers=ann)
    assert refused.status_code == 400 and refused.json["error"]["allowed"] == listed
    runs = [client.get(f"/api/v1/models/{quote(label, safe='')}", headers=ann).json["runs"] for label in listed]
    assert sorted(map(len, runs)) == [1, 3]
    across = client.get("/api/v1/across?rows=models", headers=ann).json["rows"]
    assert {*listed} <= {row["model"] for row in across}
    own = client.get(f"/api/v1/models/{CALLED}", headers=changing.bearer["bob"])
    assert own.status_code == 200 and not leaks(own.text.replace(CALLED, ""))
    assert as_outsider(changing, "describe", ann, model=CALLED, notes="which?")[0] == 400
    listed_runs = client.get(f"/api/v1/runs?of_model={quote(listed[0])}", headers=ann).json["runs"]
    assert {run["dataset"] for run in listed_runs} <= {DATASET, "toy"} and len(listed_runs) in (1, 4)


def test_refused_attempts_do_not_say_what_is_private(lab):
    """Else, somebody who tries names would see which of their attempts are not listed."""
    listed = []
    for name in (SECRET, "nothing"):
        for path in (f"datasets/{name}/readers", f"runs/{name}"):
            assert lab.client.delete(f"/api/v1/{path}", headers=lab.ann).status_code == 403
        events = lab.client.get("/api/v1/audit?limit=2", headers=lab.bob).json["events"]
        listed.append([event.get("attempt") for event in events])
    assert listed == [["DELETE /api/v1/runs/<run_id>", "DELETE /api/v1/datasets/<dataset>/readers"]] * 2


def test_each_right_allows_only_its_own_actions(lab):
    address = "/api/v1/datasets/later/readers"
    for reader in (lab.ann, lab.bob):
        for method in ("GET", "PUT", "DELETE"):
            answer = lab.client.open(address, method=method, headers=reader)
            assert answer.status_code == 403 and answer.json["error"]["code"] == "missing_right"
    answer = lab.client.delete(f"/api/v1/runs/{lab.runs['toy']}", headers=lab.ann)
    assert answer.status_code == 403 and answer.json["error"]["code"] == "missing_right"
    assert lab.client.put(f"{address}?reader=ann&reader=user:kim", headers=lab.eve).json == {
        "dataset": "later", "private": True, "readers": ["ann", "user:kim"],
    }  # fmt: skip
    assert lab.client.put(f"{address}?reader=nobody", headers=lab.eve).status_code == 400
    assert lab.client.delete(address, headers=lab.eve).json["private"] is False


def test_a_token_expires_or_is_revoked(lab):
    ended = lab.tokens.create("short", "read", datetime.now(UTC) + timedelta(days=1))
    assert lab.client.get("/api/v1/runs", headers=bearer(ended)).status_code == 200
    record = lab.tokens.record().find(ended)
    assert record.ended_at("2999-01-01") == record.until and record.ended_at() is None
    lab.tokens.revoke("short")
    assert lab.client.get("/api/v1/runs", headers=bearer(ended)).json["error"]["code"] == "revoked_token"


def test_a_browser_logs_in_and_out(lab):
    client = lab.app.test_client()
    led = client.get("/reliability?dataset=toy")
    assert led.headers["Location"] == "/login?next=%2Freliability%3Fdataset%3Dtoy"
    form = client.get(led.headers["Location"]).text
    assert 'name="token"' in form and 'value="/reliability?dataset=toy"' in form
    wrong = client.post("/login", data={"token": "clueline_x", "next": "/"})
    assert wrong.status_code == 401 and "not known" in wrong.text and "Set-Cookie" not in wrong.headers
    token = lab.ann["Authorization"].split()[1]
    right = client.post("/login", data={"token": token, "next": "/reliability?dataset=toy"})
    assert (right.status_code, right.headers["Location"]) == (303, "/reliability?dataset=toy")
    cookie = right.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    assert "Secure" in client.post("/login", data={"token": token}, base_url="https://localhost").headers["Set-Cookie"]
    assert client.get("/").status_code == 200 and SECRET in client.get("/api/v1/datasets").text
    assert "logged in as <strong>ann" in client.get("/login").text
    client.post("/logout")
    assert client.get("/").status_code == 303


def test_no_other_site_uses_the_cookie(lab):
    client, headers = logged_in(lab, "bob"), {"Origin": "http://evil.example"}
    answer = client.delete(f"/api/v1/runs/{lab.runs['toy']}", headers=headers)
    assert answer.status_code == 403 and answer.json["error"]["code"] == "cross_site"
    assert client.post("/login", data={"token": "x"}, headers=headers).status_code == 403
    assert client.delete("/api/v1/runs/none", headers={"Origin": "http://localhost"}).status_code == 404


def test_a_signed_link_opens_one_view(lab, cli):
    def sign(link):
        done = cli("sign", link, "--until", "2999-01-01", store=lab.folder / "store", read="token")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    link = sign(f"/api/v1/leaderboard?dataset={SECRET}&metrics=brier")
    assert f"{SECRET}-model" in lab.client.get(link).text
    for other in (link.replace("brier", "accuracy"), link.replace("leaderboard", "reliability"), f"{link}&failed=1", f"{link}x"):
        assert lab.client.get(other).status_code == 401, other
    page = sign(f"http://lab.example/?dataset={SECRET}").removeprefix("http://lab.example")
    assert lab.client.get(page).status_code == 200
    drawn = draw(lab.client, "/", page.partition("?")[2])
    assert f"{SECRET}-model" in drawn and "toy" not in drawn
    assert "/login?next=" in draw(lab.client, "/runs", page.partition("?")[2])
    assert sign(f"/runs/{lab.runs[SECRET]}?theme=dark").startswith(f"/runs/{lab.runs[SECRET]}?theme=dark&signed=")
    assert cli("sign", "/?dataset=nowhere", "--until", "2999-01-01", store=lab.folder / "store").returncode == 1
    assert cli("sign", "/", "--until", "1999-01-01", store=lab.folder / "store").returncode == 2
    assert cli("sign", "--revoke-all", store=lab.folder / "store").returncode == 0
    assert lab.client.get(link).status_code == 401


def signed_page(lab, cli, page):
    """Return the drawing of a page that a signed link opens, and the addresses of this server in it."""
    done = cli("sign", page, "--until", "2999-01-01", store=lab.folder / "store", read="token")
    assert done.returncode == 0, done.stderr
    path, _, query = done.stdout.strip().partition("?")
    drawn = draw(lab.client, path, query)
    return drawn, [html.unescape(address) for address in re.findall(r'["\\](/(?:api/v1/|_rows)[^"\\]*)', drawn)]


TABLES = {"/": "leaderboard.csv", "/questions": "questions.csv", "/runs": "runs.csv"}


@pytest.mark.parametrize("path", TABLES)
def test_a_signed_page_downloads_its_own_table(lab, cli, path):
    _, addresses = signed_page(lab, cli, f"{path}?dataset={SECRET}")
    (download,) = [address for address in addresses if f"/api/v1/{TABLES[path]}" in address]
    assert lab.client.get(download).status_code == 200
    for other in (
        download.replace(".csv", ""),
        download.replace(f"dataset={SECRET}", "dataset=toy"),
        download.replace(TABLES[path], "reliability.csv"),
        download.replace("signed=", "failed=1&signed="),
        download.replace("signed=", f"run={lab.runs[SECRET]}&signed="),
        download.partition("&signed=")[0],
        download[:-2] + ("A" if download[-2] != "A" else "B") + download[-1],  # a part of the last character is padding
    ):
        assert other != download and lab.client.get(other).status_code == 401, other


def test_sections_of_a_signed_page_download_too(copied):
    client = create_app(Settings(store=str(copied), workers=1, read="token")).test_client()
    key = Tokens(open_store(copied).register).new_link_key()
    until = datetime.now(UTC) + timedelta(days=1)
    for path, table in (("/slices", "unsolved.csv"), ("/teams", "teams.csv")):
        signature = signed_links.sign(key, path, [("dataset", "pyramid")], "pyramid", until)
        drawn = draw(client, path, f"dataset=pyramid&signed={signature}")
        downloads = set(re.findall(rf"/api/v1/{re.escape(table)}[^\"\\]*", html.unescape(drawn)))
        assert downloads
        for download in downloads:
            assert client.get(download).status_code == 200
            assert client.get(download.replace("signed=", "category=Art&signed=")).status_code == 401


def test_a_signed_list_of_questions_gets_its_rows(lab, cli):
    _, addresses = signed_page(lab, cli, f"/questions?dataset={SECRET}&metric=accuracy")
    (rows,) = [address for address in addresses if address.startswith("/_rows")]
    assert "own=" not in rows
    got = lab.client.get(f"{rows}&start=0&count=100").json
    assert got["total"] == len(got["rows"]) > 0 and SECRET in json.dumps(got)
    assert lab.client.get(f"{rows}&start=0&count=100&sort=-category").json["total"] == got["total"]
    run = lab.runs[SECRET]
    for changed in (
        f"{rows}&start=0&count=100&sort=-wrong:{run}",  # an order that adds a column
        f"{rows}&start=0&count=100&sort=-wrong:{run}&own=-wrong:{run}",
        f"{rows}&start=0&count=100&category=Art",
        f"{rows}&start=0&count=100&people=imported",
        rows.replace("metric=accuracy", "metric=brier") + "&start=0&count=100",
        rows.replace(SECRET, "toy") + "&start=0&count=100",
        rows.partition("&signed=")[0] + "&start=0&count=100",
    ):
        answer = lab.client.get(changed)
        assert answer.status_code == 401 and SECRET not in answer.text.replace(changed, ""), changed
    _, addresses = signed_page(lab, cli, f"/questions?dataset={SECRET}&sort=-wrong:{run}")
    (rows,) = [address for address in addresses if address.startswith("/_rows")]
    for sort, status in ((f"-wrong:{run}", 200), (f"wrong:{run}", 200), ("category", 200), (f"-accuracy:{run}", 401)):
        assert lab.client.get(f"{rows}&start=0&count=100&sort={sort}").status_code == status, sort


def test_links_on_a_signed_page_expire_with_it(lab, cli):
    until = datetime.now(UTC) + timedelta(hours=1)
    signature = signed_links.sign(lab.tokens.record().link_key, "/", [("dataset", SECRET)], SECRET, until)
    drawn = draw(lab.client, "/", f"dataset={SECRET}&signed={signature}")
    (download,) = set(re.findall(r"/api/v1/leaderboard\.csv[^\"\\]*", html.unescape(drawn)))
    path, _, query = download.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    opened = [
        signed_links.open_link(lab.tokens.record().link_key, dict(pairs)["signed"], path, pairs, now)
        for now in (until.timestamp() - 2, until.timestamp() + 1)
    ]
    assert opened[0].dataset == SECRET and opened[1] is None


def test_a_signed_page_does_not_open_responses(lab, cli):
    _, addresses = signed_page(lab, cli, f"/runs?dataset={SECRET}")
    responses = [address for address in addresses if "/responses" in address]
    assert responses and all(lab.client.get(address).status_code == 401 for address in responses)
    assert "signed=" not in draw(logged_in(lab, "ann"), "/runs", f"dataset={SECRET}", headers=lab.ann)


def test_an_open_server_has_private_datasets_too(lab):
    app = create_app(Settings(store=lab.store.url, workers=1))
    client = app.test_client()
    assert [row["dataset"] for row in client.get("/api/v1/datasets").json["datasets"]] == ["toy"]
    assert SECRET not in draw(client, "/datasets") and "Log in" in draw(client, "/datasets")
    assert SECRET in client.get("/api/v1/datasets", headers=lab.ann).text
    assert client.get("/api/v1/datasets", headers=bearer("clueline_x")).status_code == 401


def test_behind_a_proxy_its_users_can_read(lab):
    lab.tokens.make_private(SECRET, ["ann", "user:kim"])
    settings = Settings(store=lab.store.url, workers=1, read="proxy", user_header="X-Remote-User", trusted_proxies=("127.0.0.1",))
    client = create_app(settings).test_client()
    assert client.get("/").status_code == 401 and client.get("/api/v1/runs").status_code == 401
    assert SECRET in client.get("/api/v1/runs", headers={"X-Remote-User": "kim"}).text
    assert SECRET not in client.get("/api/v1/runs", headers={"X-Remote-User": "ann"}).text  # a user is not a token
    assert client.get("/api/v1/runs", headers=lab.bob).status_code == 200


def test_a_restore_during_a_request_shows_nothing_private(lab, tmp_path, monkeypatch):
    """The reader of the request was known before the dataset was private."""
    back_up(lab.store, tmp_path / "saved")
    store = open_store(tmp_path / "public", threads=1)
    put(store, write(tmp_path / "toy", FACTS | {"dataset": "toy", "title": "Toy"}))
    Tokens(store.register).create("kim")
    app = create_app(Settings(store=store.url, workers=1))
    service = app.extensions["clueline"]
    read = service.store.snapshot

    def restoring():
        restore_backup(store, tmp_path / "saved")
        return read()

    monkeypatch.setattr(service.store, "snapshot", restoring)
    answer = app.test_client().get("/api/v1/datasets")
    assert [row["dataset"] for row in answer.json["datasets"]] == ["toy"] and not seen(answer.text)


def test_without_the_list_of_readers_nothing_is_served(lab, tmp_path):
    """If tokens.json is damaged or gone, it is unknown what is private, so nobody can read anything."""
    import shutil

    folder = shutil.copytree(lab.folder / "store", tmp_path / "store")
    client = create_app(Settings(store=str(folder), workers=1)).test_client()
    content = (folder / "tokens.json").read_bytes()
    for damaged in (b"", b"[]"[:1], content.replace(b"ann", b"bob"), content[:-5], None):
        if damaged is None:
            (folder / "tokens.json").unlink()
        else:
            (folder / "tokens.json").write_bytes(damaged)
        assert client.get("/api/v1/datasets").status_code == 503
        assert "toy" not in draw(client, "/")
