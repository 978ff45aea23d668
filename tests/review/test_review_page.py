"""The document for a review board: what it says, that it is whole, and that nothing escapes it."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import NoAnswerError, ShuffleAccountant
from shuffledp.accounting.operational import tradeoff_below
from shuffledp.basics.rounding import round_up
from shuffledp.certificates import Certificate
from shuffledp.cli import main
from shuffledp.deployment.study import Attribute, Shuffle, Study, StudyDesign
from shuffledp.deployment.study.study_option import certified
from shuffledp.mechanisms import parse
from shuffledp.outputs.review import Cover, Whole
from shuffledp.outputs.review.findings import Findings
from shuffledp.outputs.review.page import write_page

pytest.importorskip("matplotlib")


KRR = "krr(k=4, epsilon0=1.0)"
COVER = Cover(title="A study", organisation="An office", contact="a@example.org")
ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><script>alert(1)</script>",
    "&lt;b&gt; & ' \" $x$",
]


class Reader(HTMLParser):
    """Elements, attributes and text of a page, as a browser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


@pytest.fixture(scope="module")
def report():
    return ShuffleAccountant(KRR, n=500).epsilon_report(1e-6)


@pytest.fixture(scope="module")
def found(report):
    return Findings(report)


@pytest.fixture(scope="module")
def page(found):
    return write_page(found, COVER)


@pytest.mark.heavy
def test_the_page_says_what_was_asked(page, report):
    text = read(page).text
    epsilon = round_up(report.guarantee.upper)
    assert f"({epsilon}, 1e-6)-differentially private" in text
    for part in ("A study", "An office", "Contact: a@example.org", KRR, "500 users", "ε0 = 1"):
        assert part in text
    assert "shuffledp epsilon 'krr(k=4, epsilon0=1.0)' -n 500 --delta 1e-6" in text


@pytest.mark.heavy
def test_what_if_numbers_are_those_of_accountants(page, found):
    text = read(page).text
    alone = ShuffleAccountant(KRR, n=250).get_epsilon(1e-6)
    bought = ShuffleAccountant(KRR, n=500, corrupted=50).get_epsilon(1e-6)
    assert [case.count for case in found.fewer] == [250, 50, 5]
    assert found.colluding[1].count == 50
    for case, wanted in ((found.fewer[0], alone), (found.colluding[1], bought)):
        assert wanted * (1 - 1e-3) <= case.epsilon <= wanted * 1.01
        accountant = ShuffleAccountant(KRR, n=250 if wanted == alone else 500, corrupted=0)
        assert case.epsilon >= accountant.epsilon_lower_bound(1e-6)
    assert found.repeated[1].epsilon >= ShuffleAccountant(KRR, 500).rounds(
        52, rtol=1e-2
    ).epsilon_lower_bound(1e-6)
    for case in (*found.fewer, *found.colluding, *found.repeated):
        assert round_up(case.epsilon) in text


@pytest.mark.heavy
def test_true_alarms_are_never_understated(found):
    accountant = ShuffleAccountant(KRR, n=500)
    for rate, hits in found.hits:
        assert rate < hits <= rate + accountant.advantage() * (1 + 1e-12)
        # The same lines as high as they may be, deltas being no less than the lower ends.
        points = [(x, accountant.delta_interval(x).lower) for x, _ in found._deltas]
        assert hits + tradeoff_below(points, rate) >= 1 - 1e-15
        assert hits <= 1 - accountant.tradeoff(rate) + 0.02 * accountant.advantage()


def test_the_page_is_complete_in_itself(page):
    reader = read(page)
    assert not {"script", "link", "iframe", "object", "form"} & set(reader.tags)
    addresses = [value for name, value in reader.attributes if name in ("src", "href")]
    assert len(addresses) == 2
    assert all(value.startswith("data:image/svg+xml;base64,") for value in addresses)
    assert "url(" not in page
    assert "@import" not in page
    assert page.startswith("<!DOCTYPE html>")
    assert all(dict(reader.attributes).get(name) for name in ("lang", "alt"))


@pytest.mark.heavy
def test_texts_are_escaped(found, page):
    attack = " ".join(ATTACKS)
    reader = read(write_page(found, Cover(title=attack, organisation=attack, contact=attack)))
    assert reader.tags == read(page).tags
    assert not any(name.startswith("on") for name, _ in reader.attributes)
    assert reader.text.count(attack) == 4  # title, heading, organisation, contact


@pytest.mark.heavy
def test_a_report_about_delta():
    found = ShuffleAccountant(KRR, n=20).delta_report(0.5)
    assert "(0.5, " in read(found.to_html()).text


@pytest.mark.parametrize(("name", "bad"), [("title", ""), ("contact", " "), ("title", "x" * 201)])
def test_bad_covers(report, name, bad):
    with pytest.raises(ValueError, match=f"{name} must have 1 to 200 characters"):
        report.to_html(**{name: bad})


def test_what_is_no_text(report):
    with pytest.raises(TypeError, match="organisation must be a text, got 5"):
        report.to_html(organisation=5)


def test_nothing_to_write_about():
    report = ShuffleAccountant("matrix([[1, 0], [0, 1]])", n=2).epsilon_report(1e-6)
    with pytest.raises(NoAnswerError, match="no finite epsilon"):
        report.to_html()


@pytest.mark.heavy
def test_few_and_corrupted_users():
    report = ShuffleAccountant(KRR, n=3, corrupted=1).epsilon_report(0.01)
    text = read(report.to_html()).text
    assert "3 users, 1 of them corrupted" in text
    assert "all of them honest" not in text  # older analyses are asked about the same crowd
    assert "--corrupted 1" in text
    assert ShuffleAccountant(KRR, n=1).epsilon_report(0.01).to_html()


@pytest.mark.heavy
def test_the_command(tmp_path: Path, found, page, monkeypatch):
    out = tmp_path / "report.html"
    monkeypatch.setattr("shuffledp.outputs.review.page.Findings", lambda report: found)
    options = ["-n", "500", "--delta", "1e-6", "--title", "A study"]
    options += ["--organisation", "An office", "--contact", "a@example.org"]
    result = CliRunner().invoke(main, ["report", KRR, *options, "--out", str(out)])
    assert (result.exit_code, result.stdout) == (0, f"{out}\n")
    assert out.read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.heavy
def test_a_certificate_is_embedded():
    pytest.importorskip("flint")
    options = ["-n", "50", "--delta", "1e-3", "--certify"]
    result = CliRunner().invoke(main, ["report", "krr(k=2, epsilon0=1)", *options])
    assert result.exit_code == 0, result.output
    text = read(result.stdout).text
    assert '"format": "shuffledp certificate 2"' in text
    assert re.search(r"Its digest is [0-9a-f]{64}\.", text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--title", ""], "title must have 1 to 200 characters"),
        (["--certify", "--corrupted", "3"], "certificates are about honest users"),
        (["--out", "/no/such/folder/report.html"], "cannot write"),
        (["--from", "nothing.csv"], "'--from' says itself what '--delta' is"),
        (["--attribute", "room"], "it needs --from"),
    ],
)
def test_wrong_command_lines(options, message):
    result = CliRunner().invoke(main, ["report", KRR, "-n", "50", "--delta", "1e-3", *options])
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_question_of_collected_reports(tmp_path: Path, monkeypatch):
    people, reports = tmp_path / "people.csv", tmp_path / "reports.csv"
    people.write_text("answer\n" + "0\n1\n" * 20)
    line = ["randomize", str(people), "--column=answer", "--mechanism=krr(2, 1)", "--delta=1e-3"]
    assert CliRunner().invoke(main, [*line, f"--out={reports}"]).exit_code == 0
    asked = []
    monkeypatch.setattr(
        "shuffledp.outputs.review.review_page", lambda found, *rest: asked.append(found) or "page"
    )
    result = CliRunner().invoke(main, ["report", "--from", str(reports)])
    assert result.stdout == "page", result.output
    (found,) = asked
    assert (str(found.randomizer), found.n, found.target) == ("krr(k=2, epsilon0=1.0)", 40, 1e-3)
    both = CliRunner().invoke(main, ["report", "--from", str(reports), "-n", "40"])
    assert (both.exit_code, "says itself" in both.stderr) == (2, True)
    seeded = tmp_path / "seeded.csv"
    assert CliRunner().invoke(main, [*line, f"--out={seeded}", "--seed=1"]).exit_code == 0
    refused = CliRunner().invoke(main, ["report", "--from", str(seeded)])
    assert "was made from a seed" in " ".join(refused.stderr.split())


@pytest.fixture
def asked(monkeypatch):
    """What documents were asked for, instead of their computation."""
    found = []
    monkeypatch.setattr(
        "shuffledp.outputs.review.review_page", lambda *question: found.append(question) or "page"
    )
    return found


def said(*options: object) -> str:
    result = CliRunner().invoke(main, ["report", *map(str, options)])
    assert result.exit_code in (1, 2), result.output
    return " ".join(result.stderr.split())


PARTS = (("room",), "krr(k=4, epsilon0=1)"), (("member", "age"), "joint(krr(2, 1), krr(3, 1))")


def plan_file(path: Path, shares: tuple[float, ...]) -> Path:
    attributes = [Attribute.categories("room", range(4)), Attribute.yes_no("member")]
    attributes.append(Attribute.categories("age", range(3)))
    shuffles = tuple(
        Shuffle(names, parse(text), share)
        for (names, text), share in zip(PARTS, shares, strict=True)
    )
    study = Study(tuple(attributes), 100, 2.0, 1e-3)
    StudyDesign(study, "some", shuffles, 1.25, {}).save(path)
    return path


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("shares", "users"), [((1.0, 1.0), [100, 100]), ((0.3, 0.7), [30, 70])])
def test_the_question_of_a_plan(tmp_path: Path, asked, shares, users):
    plan = plan_file(tmp_path / "plan.json", shares)
    for name in ("room", "age"):
        result = CliRunner().invoke(main, ["report", "--from", str(plan), "--attribute", name])
        assert result.stdout == "page", result.output
    assert [found.n for found, *_ in asked] == users
    texts = [str(found.randomizer) for found, *_ in asked]
    assert texts == [str(parse(text)) for _, text in PARTS]
    together = certified(StudyDesign.load(plan).shuffles, 100, 1e-3).epsilon  # whatever it says
    for found, _, certificate, whole in asked:
        assert (found.target, certificate, whole) == (1e-3, None, Whole(2, together, 1e-3))
    assert "has 2 shuffles, and a document is about one" in said("--from", plan)
    assert "no attribute 'rooms'" in said("--from", plan, "--attribute", "rooms")


@pytest.mark.heavy
def test_the_question_of_a_certificate(tmp_path: Path, asked):
    pytest.importorskip("flint")
    made = CliRunner().invoke(main, ["certify", "krr(2, 1)", "-n", "20", "--delta", "1e-2"])
    file = tmp_path / "proof.json"
    file.write_text(made.stdout)
    result = CliRunner().invoke(main, ["report", "--from", str(file)])
    assert result.stdout == "page", result.output
    ((found, _, certificate, whole),) = asked
    assert (found.n, found.target, whole) == (20, 1e-2, None)
    assert certificate == Certificate.from_json(made.stdout)
    assert "has proved" in said("--from", file, "--certify")
    assert "honest users" in said("--from", file, "--corrupted", 3)
    assert "chooses a shuffle" in said("--from", file, "--attribute", "x")
    file.write_text(made.stdout.replace('"n": 20', '"n": 21'))
    assert "the certificate was altered" in said("--from", file)
    file.write_text(made.stdout.replace("guarantee", "promise"))
    assert "is not a certificate" in said("--from", file)
    for text in ("[]", "no", '{"format": 3}', "{}"):
        file.write_text(text)
        assert "is n" in said("--from", file)
    for name in ("none.json", "none.csv"):
        assert "cannot read" in said("--from", tmp_path / name)


def test_documents_about_published_sums(tmp_path: Path, asked):
    people, total = tmp_path / "people.csv", tmp_path / "sum.json"
    people.write_text("answer\n" + "0\n1\n" * 20)
    line = ["randomize", str(people), "--column=answer", "--mechanism=oue(1, 2)", "--delta=1e-3"]
    made = CliRunner().invoke(main, [*line, "--view=sum", f"--out={total}"])
    assert made.exit_code == 0, made.output
    assert "says itself what is collected: leave out '--view'" in said(
        "--from", total, "--view", "sum"
    )
    assert CliRunner().invoke(main, ["report", "--from", str(total)]).stdout == "page"
    found, *_ = asked.pop()
    assert (found.view, found.n, found.target, found.bound) == ("sum", 40, 1e-3, "exact")
    pytest.importorskip("flint")
    line = ["certify", "gaussian(sigma=2)", "-n", "20", "--delta", "1e-2", "--view", "sum"]
    proof = tmp_path / "proof.json"
    proof.write_text(CliRunner().invoke(main, line).stdout)
    assert CliRunner().invoke(main, ["report", "--from", str(proof)]).stdout == "page"
    found, _, certificate, _ = asked.pop()
    assert (found.view, found.n, certificate.bound) == ("sum", 20, "exact")


@pytest.mark.heavy
def test_documents_about_sums_say_what_holds_if_the_aggregator_fails():
    accountant = ShuffleAccountant("laplace(epsilon0=1)", n=60, view="sum")
    found = Findings(accountant.epsilon_report(1e-4))
    shuffled = ShuffleAccountant("laplace(epsilon0=1)", n=60).get_epsilon(1e-4)
    assert found.epsilon < found.shuffled == shuffled < found.local == 1.0
    assert found.advantage == accountant.advantage()
    for epsilon, delta in found._deltas[1:]:
        assert delta >= accountant.delta_lower_bound(epsilon)
        assert delta <= ShuffleAccountant("laplace(epsilon0=1)", n=60).get_delta(epsilon)
    text = read(write_page(found, COVER)).text
    assert f"the sum of the reports is ({round_up(found.epsilon)}, 0.0001)-diff" in text
    assert "The aggregatoreach report, perhaps with its senderε0 = 1" in text
    assert "the aggregator reveals the sum of all reports, once, and nothing else" in text
    fails = "the aggregator fails"
    assert f"{fails}all reports, without order or sender{round_up(shuffled)}" in text
    assert f"{fails}every report with its sender1" in text
    assert "--bound best --view sum" in text
    assert (
        "shuffledp certify 'laplace(epsilon0=1.0)' -n 60 --delta 0.0001 --bound best --view sum"
        in text
    )
    assert "best attack, sum" in [line.label for line in found.tradeoff.lines]
    assert "shuffled reports are" not in text.replace("are about shuffled reports", "")


def test_sums_of_which_no_attack_is_known():
    report = ShuffleAccountant("subset(1, 5, 2)", n=20, view="sum").epsilon_report(1e-2)
    found = Findings(report)
    assert not found.has_attack
    assert found.shuffled is not None
    assert found.epsilon <= found.shuffled


@pytest.mark.heavy
def test_the_commands_say_what_was_asked():
    asked = {"corrupted": 1, "rtol": 1e-3}
    found = Findings(ShuffleAccountant(KRR, n=30, **asked).epsilon_report(1e-3))
    text = read(write_page(found, COVER)).text
    assert f"epsilon '{KRR}' -n 30 --delta 0.001 --bound best --rtol 0.001 --corrupted 1" in text
    assert "shuffledp certify" not in text  # it is for honest users


def test_a_part_of_a_study_says_so(found):
    text = read(write_page(found, COVER, whole=Whole(3, 0.7512, 1e-6))).text
    assert "one of 3 shuffles of a study" in text
    assert "together are (0.7512, 1e-6)-differentially private" in text


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("krr(k=3, epsilon0=1)", 1.0, 1.0),
        ("matrix([[0.75, 0.25], [0.25, 0.75]])", math.log(3), math.log(3) + 1e-12),
        ("gaussian(sigma=1)", 2.0, 10.0),  # at the delta: it has no level
    ],
)
def test_without_the_shuffler_the_local_level_holds(text, least, most):
    found = Findings(ShuffleAccountant(text, n=5).epsilon_report(1e-3))
    assert least <= found.local <= most
    level = f"ε = {round_up(found.local)}, δ = 0.001"
    if found.is_pure:
        level = f"ε0 = {round_up(found.local)}"
    assert read(write_page(found, COVER)).text.count(level) == 2
    assert found.is_pure == (not text.startswith("gaussian"))


def test_a_question_is_needed():
    result = CliRunner().invoke(main, ["report", KRR, "-n", "50"])
    assert result.exit_code == 2
    assert "Missing option '--delta', or '--from'" in result.stderr
