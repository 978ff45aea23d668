"""The page in a real browser: Chromium, driven by playwright, where both are found."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from decimal import Decimal
from urllib.parse import quote

import pytest

from shuffledp import Setting, ShuffleAccountant, certify
from shuffledp.basics.rounding import round_down, round_up
from shuffledp.outputs.review.embedded import address_of

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("fastapi")
pytest.importorskip("plotly")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

if CHROMIUM is None:
    pytest.skip("no Chromium was found, so the page is not tested", allow_module_level=True)

ANSWER = "#guarantee"
ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def address():
    """A server of its own, started and stopped as people do."""
    command = [sys.executable, "-m", "shuffledp", "explore", "--no-browser"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as server:
        found = re.match(r"(http://127\.0\.0\.1:\d+/)", server.stdout.readline())
        yield found.group(1)
        server.send_signal(2)
        assert server.wait(20) == 0
        assert (server.stdout.read(), server.stderr.read()) == ("", "")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser, address):
    """A new page; whatever it did, it spoke to the server alone and no error was logged."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = context.new_page()
    asked, said = [], []
    made.on("request", lambda request: asked.append(request.url))
    made.on("console", lambda message: said.append((message.type, message.text)))
    made.on("pageerror", lambda error: said.append(("error", str(error))))
    made.on("dialog", lambda dialog: said.append(("error", "a dialog opened")))
    made.wrong = []  # what a test expects to be refused
    yield made
    context.close()
    own = (address, "blob:", "data:")
    assert [url for url in asked if not url.startswith(own)] == []
    expected = ("Failed to load resource",) if made.wrong else ()
    errors = [text for kind, text in said if kind in ("error", "warning")]
    assert [text for text in errors if not text.startswith(expected or "\0")] == []


def settle(page) -> None:
    """Wait until the view that is shown has its answer."""
    page.wait_for_timeout(150)
    page.locator("[aria-busy]").first.wait_for(state="detached", timeout=60_000)


def ask(*line: str) -> dict:
    command = [sys.executable, "-m", "shuffledp", *line, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_a_first_answer_and_more_users(page, address):
    page.goto(f"{address}?tab=answer")
    settle(page)
    found = ask("epsilon", "krr(k=10, epsilon0=2)", "-n", "10000", "--delta", "1e-6")
    shown = page.locator(ANSWER).inner_text()
    assert f"ε ≤ {round_up(found['guarantee']['upper'])}" in shown
    assert round_down(found["lower_bound"]) in shown
    page.locator("#n-slider").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    settle(page)
    assert page.locator("#n").input_value() == "11000"
    assert page.locator(ANSWER).inner_text() != shown
    assert "n=11000" in page.url


@pytest.mark.heavy
def test_a_wrong_value_is_told_beside_its_field(page, address):
    page.wrong.append("n")
    page.goto(f"{address}?tab=answer")
    settle(page)
    page.locator("#n").fill("many")
    settle(page)
    assert "n must be a whole number such as 10000" in page.locator("#n-error").inner_text()
    assert page.locator("#n").get_attribute("aria-invalid") == "true"
    page.locator("#n").fill("1000")
    settle(page)
    assert page.locator("#n-error").inner_text() == ""


@pytest.mark.heavy
def test_every_tab_by_keyboard(page, address):
    page.goto(f"{address}?mechanism={quote('krr(k=2, epsilon0=1)')}&n=500&budget=2&domain=2")
    settle(page)
    page.locator("#tab-find").focus()
    for tab, shown in (
        ("answer", "#guarantee"),
        ("curve", "#curve-chart svg"),
        ("plan", "#options td"),
        ("rounds", "#rounds-chart svg"),
        ("tiers", "#tiers-table td"),
    ):
        page.keyboard.press("ArrowRight")
        settle(page)
        assert page.locator(f"#tab-{tab}").get_attribute("aria-selected") == "true"
        assert page.locator(shown).first.is_visible()
        assert f"tab={tab}" in page.url
    found = ask("rounds", "krr(k=2, epsilon0=1)", "-n", "500", "--delta", "1e-6", "--epsilon", "2")
    assert page.locator("#rounds-guarantee").inner_text().startswith(f"{found['times']} rounds fit")


@pytest.mark.heavy
def test_copies_and_downloads(page, address):
    page.goto(f"{address}?mechanism={quote('krr(k=4, epsilon0=1)')}&n=200&delta=1e-4&tab=answer")
    settle(page)

    def copied(kind: str) -> str:
        page.locator(f"[data-copy={kind}]").click()
        page.locator("#copied", has_text=f"copied: {kind}").wait_for()
        return page.evaluate("navigator.clipboard.readText()")

    answer = json.loads(copied("json"))
    assert answer == ask("epsilon", "krr(k=4, epsilon0=1)", "-n", "200", "--delta", "1e-4")
    command = copied("command")
    assert command == "shuffledp epsilon 'krr(k=4, epsilon0=1)' -n 200 --delta 1e-4"
    run = subprocess.run(
        [sys.executable, "-c", copied("python")], capture_output=True, text=True, check=True
    )
    assert round_up(answer["guarantee"]["upper"]) in run.stdout
    with page.expect_download() as download:
        page.locator("[data-save=csv]").click()
    assert "guarantee" in download.value.path().read_text(encoding="utf-8")


@pytest.mark.heavy
def test_the_address_holds_the_question_and_a_phone_shows_it(page, address):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}?tab=curve&against=delta&mechanism={quote('krr(k=2, epsilon0=1)')}&n=300")
    settle(page)
    assert page.locator("#against").input_value() == "delta"
    assert page.locator("#kind").input_value() == "krr"
    assert page.locator("#p-epsilon0").input_value() == "1"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with page.expect_download() as download:
        page.locator("[data-save=svg]").click()
    assert download.value.path().read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.heavy
def test_a_wrong_parameter_is_told_beside_it_and_old_answers_fade(page, address):
    page.wrong.append("mechanism")
    page.goto(f"{address}?mechanism={quote('krr(k=1, epsilon0=1)')}&n=200&tab=answer")
    settle(page)
    assert not page.locator("#published").is_visible()
    page.locator("#p-k").fill("4")
    settle(page)
    assert page.locator("#panel-answer.stale").count() == 0
    page.locator("#p-k").fill("1")
    settle(page)
    assert "k must be an integer of at least 2" in page.locator("#p-k-error").inner_text()
    assert page.locator("#p-k").get_attribute("aria-invalid") == "true"
    assert page.locator("#mechanism-error").inner_text() == ""
    assert page.locator("#panel-answer.stale").count() == 1
    assert page.locator("#busy").inner_text() == "no answer to this question"
    page.locator("[data-copy=json]").click()
    page.locator("#copied", has_text="there is no answer to copy").wait_for()
    page.locator("#report").click()
    page.locator("#copied", has_text="there is no report of this question").wait_for()


@pytest.mark.heavy
def test_curves_against_rounds_and_levels(page, address):
    page.goto(f"{address}?mechanism={quote('krr(4, 1)')}&n=200&tab=curve&against=rounds")
    settle(page)
    assert page.locator("#curve-chart path.js-line").count() >= 2
    page.locator("#against").select_option("epsilon0")
    settle(page)
    assert page.locator("#mechanism-error").inner_text() == ""
    page.locator("[data-copy=command]").click()
    page.locator("#copied", has_text="copied: command").wait_for()
    command = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert command[:3] == ["shuffledp", "curve", "krr(k=4)"]
    with page.expect_download() as download:
        page.locator("[data-save=csv]").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == "label,kind,epsilon0,epsilon"
    assert len(lines) == 1 + 2 * 25


@pytest.mark.heavy
def test_the_report_is_saved(page, address):
    page.goto(f"{address}?mechanism={quote('krr(k=2, epsilon0=1)')}&n=50&delta=1e-3&tab=answer")
    settle(page)
    with page.expect_download(timeout=60_000) as download:
        page.locator("#report").click()
    assert download.value.suggested_filename == "report.html"
    assert "50 users" in download.value.path().read_text(encoding="utf-8")


@pytest.mark.heavy
def test_the_list_of_questions_asks_them(page, address):
    page.goto(f"{address}api.html")
    settle(page)
    page.locator("summary", has_text="/api/epsilon").click()
    for name, value in (("mechanism", "krr(2, 1)"), ("n", "50"), ("delta", "1e-3")):
        page.locator(f"#epsilon-{name}").fill(value)
    page.locator("details[open] button").click()
    page.locator("details[open] pre", has_text='"guarantee"').wait_for()
    found = json.loads(page.locator("details[open] pre").inner_text())
    assert found == ask("epsilon", "krr(2, 1)", "-n", "50", "--delta", "1e-3")
    page.wrong.append("n")
    page.locator("#epsilon-n").fill("0")
    page.locator("details[open] button").click()
    page.locator("details[open] pre", has_text="n: n must be at least 1").wait_for()


@pytest.mark.heavy
@pytest.mark.parametrize("text", ["laplace(epsilon0=1, domain='interval')", "a'b\"$(ls)`ls`\\"])
def test_texts_survive_copying(page, address, text):
    page.goto(f"{address}?mechanism={quote(text)}")
    state = {"mechanism": text, "n": "1e3", "delta": "1e-6", "corrupted": "5%", "bounds": []}
    state |= {"tab": "answer", "task": "mean", "domain": "", "target": "1", "rounds": ""}
    state |= {"view": "multiset", "groups": "", "at_most": "", "corrupted_adaptively": ""}
    state |= {"bound": "best", "against": "users", "want": "users", "dummies": "", "budget": "1"}
    script = f"import('{address}copies.js').then((c) => [c.asCommand(%s), c.asPython(%s)])"
    command, code = page.evaluate(script % (json.dumps(state), json.dumps(state)))
    line = ["shuffledp", "epsilon", text, "-n", "1e3", "--delta", "1e-6", "--corrupted", "5%"]
    assert shlex.split(command) == line
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert {text, 0.05} <= set(constants)  # the share of corrupted users is a number in Python
    state["tab"] = "plan"
    command, code = page.evaluate(script % (json.dumps(state), json.dumps(state)))
    assert "domain" not in command + code.replace("domain_size=None", "")
    page.wrong.append("mechanism")  # the second one is none


@pytest.mark.heavy
def test_corrupted_users_are_counted_in_every_view(page, address):
    page.goto(f"{address}?mechanism={quote('krr(k=2, epsilon0=1)')}&n=300&corrupted=30&tab=answer")
    settle(page)
    honest = ask(
        "epsilon", "krr(k=2, epsilon0=1)", "-n", "300", "--delta", "1e-6", "--corrupted=30"
    )
    assert round_up(honest["guarantee"]["upper"]) in page.locator(ANSWER).inner_text()
    assert "300 users, 30 of them corrupted" in page.locator("#sentence").inner_text()
    assert "corrupted=30" in page.locator("#report").get_attribute("href")
    page.locator("#published-title").click()
    page.locator("#published td").first.wait_for()
    assert "of the honest users" in page.locator("#published-title").inner_text()
    crowd = "300 users, 30 of them corrupted"
    for tab, place, words in (
        ("plan", "#plan-sentence", crowd),
        ("rounds", "#rounds-sentence", crowd),
        ("curve", "#curve-notes", "corrupted: 30 users"),
    ):
        page.locator(f"#tab-{tab}").click()
        settle(page)
        assert words in page.locator(place).inner_text()
        assert page.locator("#corrupted-error").inner_text() == ""
        page.locator("[data-copy=command]").click()
        page.locator("#copied", has_text="copied: command").wait_for()
        assert " --corrupted 30" in page.evaluate("navigator.clipboard.readText()")
    page.wrong.append("corrupted")
    page.locator("#setting summary").click()
    page.locator("#corrupted").fill("2000")  # the curve begins at 1,000 users
    page.locator("#corrupted-error", has_text="where there are 1,000 users").wait_for()


@pytest.mark.heavy
def test_sums_and_tiers(page, address):
    page.goto(
        f"{address}?mechanism={quote('gaussian(sigma=2)')}&n=100&view=sum&delta=1e-4&tab=answer"
    )
    settle(page)
    question = ("gaussian(sigma=2)", "-n", "100", "--delta", "1e-4", "--view", "sum")
    found = ask("epsilon", *question)
    assert f"ε ≤ {round_up(found['guarantee']['upper'])}" in page.locator(ANSWER).inner_text()
    assert "the sum of the reports is (" in page.locator("#sentence").inner_text()
    assert "view=sum" in page.locator("#report").get_attribute("href")
    page.locator("[data-copy=command]").click()
    page.locator("#copied", has_text="copied: command").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert shlex.split(copied) == ["shuffledp", "epsilon", *question]
    page.locator("#setting summary").click()
    page.locator("#view").select_option("multiset")
    settle(page)
    assert "view" not in page.url
    page.locator("#tab-tiers").click()
    settle(page)
    tiers = ["krr(k=4, epsilon0=1)=300", "krr(k=4, epsilon0=3)=100"]
    page.locator("#groups").fill("\n".join(tiers))
    page.locator("#corrupted").fill("20")
    settle(page)
    options = [part for tier in tiers for part in ("--group", tier)]
    found = ask("tiers", *options, "--delta", "1e-4", "--corrupted", "20")
    shown = page.locator("#tiers-table tbody tr").all_inner_texts()
    assert len(shown) == 2
    for row, tier in zip(shown, found["tiers"], strict=True):
        assert round_up(tier["guarantee"]["upper"]) in row
    assert "400 users, 20 of them corrupted" in page.locator("#tiers-sentence").inner_text()
    page.locator("[data-copy=python]").click()
    page.locator("#copied", has_text="copied: python").wait_for()
    code = page.evaluate("navigator.clipboard.readText()")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert repr(found["tiers"][0]["guarantee"]["upper"])[:8] in run.stdout
    page.wrong.append("groups")
    page.locator("#groups").fill(f"{tiers[0]}\n{ATTACK}")
    settle(page)
    assert "must be a mechanism" in page.locator("#groups-error").inner_text()


def files(page, *paths) -> None:
    """Choose files one after the other, and wait for what is said of each."""
    for path in paths:
        page.locator("#file").set_input_files(path)
        page.locator("#opened-title, #opened-error", has_text=path.name).first.wait_for()
        page.locator("#opened-title", has_text="is being read").wait_for(state="detached")
        settle(page)


@pytest.mark.heavy
def test_what_is_found_becomes_the_question(page, address):
    page.goto(f"{address}?mechanism={quote('krr(k=4, epsilon0=1)')}&target=0.5&delta=1e-3")
    settle(page)
    assert not page.locator("#n").is_visible()
    aim = ["--epsilon", "0.5", "--delta", "1e-3"]
    found = ask("users", "krr(k=4, epsilon0=1)", *aim)
    assert f"{found['n']:,} users" in page.locator("#found").inner_text()
    assert page.locator("#accuracy li").all_inner_texts() == found["accuracy"]
    assert f"n={found['n']}" in page.locator("#report").get_attribute("href")
    page.locator("#want").select_option("noise")
    page.locator("#n").fill("300")
    page.locator("#setting summary").click()
    page.locator("#rounds").fill("2")
    settle(page)
    found = ask("calibrate", "krr(k=4)", "-n", "300", *aim, "--rounds", "2")
    assert f"ε0 = {round_down(found['epsilon0'])}" in page.locator("#found").inner_text()
    assert "After 2 rounds of 300 users" in page.locator("#found-sentence").inner_text()
    for kind, words in (("command", "shuffledp calibrate"), ("python", "calibrate_epsilon0")):
        page.locator(f"[data-copy={kind}]").click()
        page.locator("#copied", has_text=f"copied: {kind}").wait_for()
        assert words in page.evaluate("navigator.clipboard.readText()")
    code = page.evaluate("navigator.clipboard.readText()")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str(found["epsilon0"]) in run.stdout
    page.locator("#use-found").click()
    settle(page)
    assert page.locator("#mechanism").input_value() == found["rounds"][0]["mechanism"]
    assert round_up(found["guarantee"]["upper"]) in page.locator(ANSWER).inner_text()


@pytest.mark.heavy
def test_settings_certificates_and_reports_are_opened(page, address, tmp_path):
    page.wrong.append("file")
    setting = tmp_path / "setting.toml"
    asked = Setting(
        mechanism="krr(k=4, epsilon0=1)", n=200, rounds=3, at_most=2, corrupted=0.05, view="sum"
    )
    asked.save(setting)
    page.goto(address)
    settle(page)
    files(page, setting)
    found = ask("epsilon", "--setting", str(setting), "--delta", "1e-6")
    assert round_up(found["guarantee"]["upper"]) in page.locator(ANSWER).inner_text()
    assert "at most 2" in page.locator("#setting-now").inner_text()
    with page.expect_download() as download:
        page.locator("#save-setting").click()
    assert Setting.load(download.value.path()) == asked
    certificate, forged, report = (tmp_path / name for name in ("c.json", "f.json", "r.html"))
    proof = certify(ShuffleAccountant("krr(k=3, epsilon0=1)", n=90), target_delta=1e-3)
    certificate.write_text(proof.to_json())
    forged.write_text(dataclasses.replace(proof, n=91).to_json())
    report.write_text(f'<!DOCTYPE html><a href="{address_of(proof)}">certificate</a>')
    for path in (certificate, report):
        files(page, path)
        assert proof.guarantee.statement in page.locator("#opened-facts").inner_text()
        assert page.locator("#n").input_value() == "90"
    files(page, forged)
    assert "not verified" in page.locator("#opened-error").inner_text()
    assert page.locator("#opened-facts dd").count() == 0
    dropped = "(() => { const t = new DataTransfer(); t.items.add(new File(['n = 77'], 'x.toml'))"
    page.evaluate(
        f"{dropped}; document.dispatchEvent(new DragEvent('drop', {{dataTransfer: t}})) }})()"
    )
    page.locator("#opened-title", has_text="x.toml: a setting").wait_for()
    settle(page)
    assert page.locator("#n").input_value() == "77"
    assert page.locator("#want").input_value() == "noise"


@pytest.mark.heavy
def test_the_answer_stays_in_sight_on_a_phone(page, address):
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(f"{address}?tab=answer&mechanism={quote('krr(k=4, epsilon0=1)')}&n=200&delta=1e-3")
    settle(page)
    page.locator("#n-slider").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    box = page.locator("#now").bounding_box()
    assert 0 <= box["y"] <= 20
    assert page.locator("#now").inner_text() == page.locator(ANSWER).inner_text()
    page.set_viewport_size({"width": 1200, "height": 700})
    assert not page.locator("#now").is_visible()


@pytest.mark.heavy
def test_every_field_has_help_and_every_mechanism_a_name(page, address):
    page.goto(address)
    settle(page)
    helped = """[...document.querySelectorAll('main input, main select, main textarea')]
        .filter((f) => f.type !== 'range' && f.type !== 'checkbox')
        .map((f) => [f.id, (f.getAttribute('aria-describedby') ?? '').split(' ')
            .some((id) => document.getElementById(id)?.matches('.hint')), f.labels.length])"""
    for name in ("krr", "laplace", "unary", "subset", "olh", "gaussian", "discrete_laplace"):
        page.locator("#kind").select_option(name)
        for field, has_help, labels in page.evaluate(helped):
            assert has_help, field
            assert labels == 1, field
            if field.startswith("p-"):
                assert page.locator(f"#{field}-help").inner_text(), field
    settle(page)
    for option in page.locator("#kind option").all_inner_texts()[1:]:
        assert re.fullmatch(r".+ \([a-z_]+\)", option)
    term = page.locator(".term").first
    term.focus()
    assert term.get_attribute("aria-description")
    page.goto(f"{address}help.html")
    settle(page)
    assert "randomized response (krr)" in page.locator("#mechanisms").inner_text()


@pytest.mark.heavy
def test_attacks_stay_text(page, address):
    page.wrong.append("mechanism")
    page.goto(
        f"{address}?mechanism={quote(ATTACK)}&n={quote(ATTACK)}&tab={quote(ATTACK)}&want=noise"
    )
    settle(page)
    assert page.locator("img").count() == 0
    assert ATTACK in page.locator("#mechanism").input_value()
    page.locator("#n").fill("100")
    settle(page)
    assert "img src=x" in page.locator("#mechanism-error").inner_text()
    assert page.locator("img").count() == 0


@pytest.mark.heavy
def test_numbers_are_rounded_as_the_library_does(page, address):
    numbers = [0.0798031, 3.9003e-22, 2.0, 9.99991, 0.1, 1 / 3, 123456.7, 5e-324, 1e22, 0.3, 1e-5]
    page.goto(address)
    rounded = f"{numbers}.map((x) => [n.roundUp(x), n.roundDown(x), n.percentUp(x)])"
    found = page.evaluate(f"import('{address}numbers.js').then((n) => {rounded})")
    assert [pair[:2] for pair in found] == [[round_up(x), round_down(x)] for x in numbers]
    for x, (*_, percent) in zip(numbers, found, strict=True):
        assert Decimal(x).scaleb(2) <= Decimal(percent) <= Decimal(x).scaleb(2) * Decimal("1.001")
    settle(page)
