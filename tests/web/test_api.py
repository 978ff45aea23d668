"""The server: the answers of the command line, and everything that it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from asks import SERVED, wait
from click.testing import CliRunner
from starlette.testclient import TestClient

from shuffledp import Setting, ShuffleAccountant
from shuffledp.certificates import certify
from shuffledp.cli import main
from shuffledp.cli.answers.served import _ALLOWED, ask, served
from shuffledp.outputs.review.embedded import address_of
from shuffledp.web import Served, create_app, listen
from shuffledp.web.app import MAX_BYTES, OPEN, STATIC
from shuffledp.web.guard import POLICY

PORT = 8321
BASE = f"http://127.0.0.1:{PORT}"
KRR = {"mechanism": "krr(k=4, epsilon0=1)", "n": "100", "delta": "1e-3"}


@pytest.fixture(scope="module")
def client():
    app = create_app(ask, served(main.commands), port=PORT, workers=1)
    with TestClient(app, base_url=BASE) as found:
        yield found


@pytest.fixture
def waiting():
    app = create_app(wait, SERVED, port=PORT, workers=1, seconds=4.0)
    with TestClient(app, base_url=BASE) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "query", "line"),
    [
        ("epsilon", KRR, ["-n", "100", "--delta", "1e-3", KRR["mechanism"]]),
        ("mechanisms", {}, []),
        (
            "curve",
            {"mechanisms": KRR["mechanism"], "delta": "1e-3", "count": "2", "bounds": "guarantee"},
            [KRR["mechanism"], "--delta", "1e-3", "--points", "2", "--bound", "guarantee"],
        ),
    ],
)
def test_answers_are_those_of_the_command_line(client, name, query, line):
    answer = client.get(f"/api/{name}", params=query)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == json.loads(CliRunner().invoke(main, [name, *line, "--json"]).stdout)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"n": "0"}, "n", "n must be at least 1"),
        ({"n": "<b>"}, "n", "n must be a whole number"),
        ({"delta": "2"}, "delta", "delta must be between 0 and 1, got 2.0"),
        ({"mechanism": "krr(k=1, epsilon0=1)"}, "mechanism", "k must be an integer of at least 2"),
        ({"mechanism": "--help"}, "mechanism", "mechanism must look like"),
        ({"mechanism": "matrix('/etc/hostname')"}, "mechanism", "files cannot be read from here"),
        ({"mechanism": "x" * 20_001}, "mechanism", "at most 20000 characters"),
        ({"corrupted": "100"}, "corrupted", "corrupted must be an integer of at least 0"),
        ({"out": "here.html"}, "out", "epsilon takes mechanism, n, delta"),
        ({"bound": "--json"}, "bound", "is not one of"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(client, change, field, words):
    answer = client.get("/api/epsilon", params={**KRR, **change})
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert words in answer.json()["error"]


def test_a_missing_field_is_named(client):
    answer = client.get("/api/epsilon", params={"mechanism": KRR["mechanism"], "n": "10"})
    assert (answer.status_code, answer.json()["field"]) == (400, "delta")


def test_a_field_given_twice_is_refused(client):
    answer = client.get("/api/epsilon?n=1&n=2")
    assert (answer.status_code, answer.json()["error"]) == (400, "n is given twice")


def test_questions_without_an_answer(client):
    query = {"mechanism": "matrix([[1, 0], [0, 1]])", "n": "2", "delta": "1e-6"}
    answer = client.get("/api/epsilon", params=query)
    assert answer.status_code == 422
    assert "no finite epsilon" in answer.json()["error"]


@pytest.mark.parametrize("count", ["201", "1e2", "-1", "9" * 30, "٣", ""])
def test_long_work_is_refused(client, count):
    query = {"mechanisms": KRR["mechanism"], "delta": "1e-3", "count": count}
    answer = client.get("/api/curve", params=query)
    assert (answer.status_code, answer.json()["field"]) == (400, "count")


def test_tiers_and_sums(client):
    groups = ["krr(k=3, epsilon0=1)=30", "krr(k=3, epsilon0=2)=10"]
    answer = client.get("/api/tiers", params={"groups": groups, "delta": "1e-3"})
    assert answer.status_code == 200
    assert [tier["n"] for tier in answer.json()["tiers"]] == [30, 10]
    query = {"mechanism": "gaussian(sigma=2)", "n": "10", "delta": "1e-3", "view": "sum"}
    assert client.get("/api/epsilon", params=query).json()["view"] == "sum"


@pytest.mark.parametrize("text", ["matrix('m.csv')=5", " matrix(path='m.csv') = 5", "matrix('m')"])
def test_no_tier_reads_a_file(client, text):
    answer = client.get("/api/tiers", params={"groups": ["krr(2, 1)=5", text], "delta": "1e-3"})
    assert (answer.status_code, answer.json()["field"]) == (400, "groups")
    assert "files cannot be read from here" in answer.json()["error"]


def test_no_parameter_reads_or_writes_files():
    assert not {name for allowed in _ALLOWED.values() for name in allowed} & {
        *("out", "outputs", "charts", "distribution", "input", "reports", "ledger", "file"),
        *("source", "study_file", "plan_file", "from_counts"),
    }
    for command in served(main.commands):
        assert not any("file" in p.name or p.name == "kept" for p in command.parameters)
        assert {p.name for p in command.parameters} == set(_ALLOWED[command.name])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": f"127.0.0.1:{PORT}"}, 200),
        ({"host": f"localhost:{PORT}"}, 200),
        ({"host": "127.0.0.1:1"}, 421),
        ({"host": "evil.example"}, 421),
        ({"host": f"127.0.0.1.evil.example:{PORT}"}, 421),
        ({"origin": BASE}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/openapi.json"])
def test_only_its_own_page_is_answered(client, path, headers, status):
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_questions_are_allowed(client, method):
    assert client.request(method, "/api/mechanisms").status_code == 405
    if method != "POST":
        assert client.request(method, OPEN, headers={"origin": BASE}).status_code == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),  # browsers name the page that sends
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": BASE, "host": "evil.example"}, 421),
        ({"origin": BASE, "sec-fetch-site": "cross-site"}, 403),
        ({"origin": BASE, "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_only_its_own_page_sends_files(client, headers, status):
    assert client.post(OPEN, content="n = 5", headers=headers).status_code == status


def sent(client, content):
    return client.post(OPEN, content=content, headers={"origin": BASE})


def test_a_setting_is_saved_and_opened(client):
    query = {**KRR, "rounds": "12", "at_most": "3", "corrupted": "2%", "view": "sum"}
    del query["delta"]
    saved = client.get("/api/setting", params=query)
    assert 'filename="setting.toml"' in saved.headers["content-disposition"]
    found = sent(client, saved.text).json()
    expected = Setting(
        mechanism=KRR["mechanism"], n=100, rounds=12, at_most=3, corrupted=0.02, view="sum"
    )
    assert found == {"file": "setting", "setting": expected.to_dict()}
    assert Setting.from_toml(saved.text) == expected
    tiers = {"groups": ["krr(k=3, epsilon0=1)=30", "krr(k=3, epsilon0=2)=10"], "dummies": "7"}
    saved = client.get("/api/setting", params=tiers)
    assert sent(client, saved.text).json()["setting"]["dummies"] == 7
    wrong = client.get("/api/setting", params={"groups": "krr(k=3)=30"})
    assert (wrong.status_code, wrong.json()["field"]) == (400, "groups")


def test_certificates_and_documents_are_verified(client):
    proof = certify(ShuffleAccountant(KRR["mechanism"], n=100), target_delta=1e-3)
    found = sent(client, proof.to_json()).json()
    assert found["file"] == "certificate"
    assert found["setting"] == {"mechanism": proof.mechanism, "n": 100}
    assert ["guarantee", proof.guarantee.statement] in found["verified"]
    page = f"<!DOCTYPE html><a href='{address_of(proof)}'>certificate</a>"
    assert sent(client, page).json() == {
        **found,
        "file": "document",
        "verified": [
            [
                "verified",
                "every statement of the certificate in the document is proved again",
            ],
            *found["verified"][1:],
        ],
    }
    forged = replace(proof, n=101)
    answer = sent(client, forged.to_json())
    assert answer.status_code == 422
    assert "not verified" in answer.json()["error"]


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"\xff\xfe", 400, "no text in UTF-8"),
        (b"x" * (MAX_BYTES + 1), 413, "at most 8,000,000 bytes"),
        (b"not a setting", 400, "neither a setting (TOML) nor a certificate nor a document"),
        (b"n = 5\nuser = 3", 400, "got 'user'"),
        (b"mechanism = \"matrix('/etc/hostname')\"", 400, "must hold its rows here"),
        (
            b"[[groups]]\nmechanism = \"matrix('/etc/hostname')\"\nn = 5",
            400,
            "must hold its rows here",
        ),
        (b"--help", 400, "neither"),
        (b"", 200, '"setting": {}'),
        (b"{}", 422, "not verified"),
        (b"<p>", 422, "the document holds no certificate"),
    ],
)
def test_files_that_cannot_be_opened(client, content, status, words):
    answer = sent(client, content)
    assert answer.status_code == status
    assert words in answer.text


@pytest.mark.parametrize(
    ("command", "words"), [("users", "An estimated share"), ("calibrate", "A group of fewer")]
)
def test_what_is_found_says_how_accurate_it_is(client, command, words):
    asked = {"mechanism": KRR["mechanism"]} if command == "users" else {"family": "krr(4)"}
    query = {
        "epsilon": "0.5",
        "delta": "1e-3",
        **asked,
        **({} if command == "users" else {"n": "500"}),
    }
    for rounds in ("1", "2"):
        found = client.get(f"/api/{command}", params={**query, "rounds": rounds}).json()
        assert any(sentence.startswith(words) for sentence in found["accuracy"])


def test_every_answer_has_the_policy(client):
    for path in ("/", "/page.js", "/plotly.js", "/api/mechanisms", "/api/nothing", "/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self';" in POLICY
    assert "unsafe-eval" not in POLICY


@pytest.mark.parametrize("path", ["/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "//etc/passwd"])
def test_nothing_but_the_page_is_served(client, path):
    assert client.get(path).status_code == 404


def test_pages_hold_no_script_and_name_no_other_host():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
        assert "innerHTML" not in text
        assert "eval(" not in text
    for name, script in (
        ("index.html", "page.js"),
        ("api.html", "api.js"),
        ("help.html", "help.js"),
    ):
        page = (STATIC / name).read_text(encoding="utf-8")
        wanted = f'<script type="module" src="{script}"></script>'
        assert page.count("<script") == page.count(wanted) == 1
        tags = (part.split(">")[0] for part in page.split("<")[1:])
        assert " on" not in " ".join(text for text in tags if "=" in text)


def test_the_list_of_questions(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    assert set(paths) == {f"/api/{name}" for name in _ALLOWED}
    asked = paths["/api/epsilon"]["get"]["parameters"]
    assert {p["name"] for p in asked if p["required"]} == {"delta"}
    for path in ("/docs", "/redoc"):  # these load scripts from elsewhere
        assert client.get(path).status_code == 404


@pytest.mark.heavy
def test_the_time_limit(waiting):
    answer = waiting.get("/api/wait", params={"seconds": "60"})
    assert answer.status_code == 504
    assert "no answer within 4 s" in answer.json()["error"]
    assert waiting.get("/api/wait", params={"seconds": "0"}).status_code == 200


@pytest.mark.heavy
def test_a_worker_that_dies_is_replaced(waiting):
    before = waiting.get("/api/wait", params={"seconds": "0"}).json()["process"]
    assert waiting.get("/api/wait", params={"seconds": "die"}).status_code == 500
    assert waiting.get("/api/wait", params={"seconds": "0"}).json()["process"] != before


def test_too_many_questions(waiting, tmp_path):
    pool = waiting.app.state.pool
    pool.most, pool.seconds = 1, 600.0
    statuses: list[int] = []

    def ask_until_told():
        question = {"seconds": f"until {tmp_path / 'told'}"}
        statuses.append(waiting.get("/api/wait", params=question).status_code)

    waiting.get("/api/wait", params={"seconds": "0"})  # the worker is there
    threads = [threading.Thread(target=ask_until_told) for _ in range(2)]
    for thread in threads:
        thread.start()
    while pool.waiting < 1:  # one is answered, one waits
        time.sleep(0.01)
    for _ in range(2):
        assert waiting.get("/api/wait", params={"seconds": "0"}).status_code == 503
    (tmp_path / "told").touch()
    for thread in threads:
        thread.join()
    assert statuses == [200, 200]


@pytest.mark.heavy
def test_arguments_cannot_become_options():
    command = Served("epsilon", "", served(main.commands)[0].parameters)
    found = command.arguments([("mechanism", "--out=x"), ("n", "5 --json")])
    assert found == ("epsilon", "--json", "--users=5 --json", "--", "--out=x")


@pytest.mark.heavy
def test_a_port_that_is_taken():
    with listen() as door:
        port = door.getsockname()[1]
        result = CliRunner().invoke(main, ["explore", "--no-browser", "--port", str(port)])
    assert result.exit_code == 1
    assert f"port {port} cannot be used" in result.stderr


@pytest.mark.heavy
def test_ctrl_c_during_work_is_quiet():
    command = [sys.executable, "-m", "shuffledp", "explore", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as server:
        address = server.stdout.readline().split()[0]
        query = {"mechanism": "gaussian(sigma=0.5)", "n": "1e6", "delta": "1e-9", "rtol": "1e-9"}
        line = [sys.executable, "-c", _ASK, f"{address}api/epsilon?{urlencode(query)}"]
        askers = [subprocess.Popen(line) for _ in range(3)]
        time.sleep(0.5)
        os.killpg(server.pid, signal.SIGINT)  # as a terminal does
        assert server.wait(20) == 0
        assert (server.stdout.read(), server.stderr.read()) == ("", "")
        for asker in askers:
            asker.wait(20)


_ASK = """
import sys, urllib.request
try:
    urllib.request.urlopen(sys.argv[1])
except OSError:
    pass
"""


@pytest.mark.heavy
def test_help_needs_no_server():
    code = (
        "import sys, shuffledp.cli; sys.exit('fastapi' in sys.modules or 'asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
