"""The parts of a document: what the owner says, the mechanism in words, errors, the certificate."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import Setting, certify, parse
from shuffledp.accounting.crowd import Crowd
from shuffledp.certificates import CertificateError
from shuffledp.cli import main
from shuffledp.mechanisms import KRR, MECHANISMS
from shuffledp.outputs.review import Cover, certificate_in, review_page
from shuffledp.outputs.review.accuracy import accuracy
from shuffledp.outputs.review.cover import ANSWERS, LINES
from shuffledp.outputs.review.embedded import address_of
from shuffledp.outputs.review.findings import Findings
from shuffledp.outputs.review.page import write_page
from shuffledp.outputs.review.portrait import portrait

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def found():
    return Findings(
        Setting(mechanism="krr(k=2, epsilon0=1)", n=20).accountant().epsilon_report(0.1)
    )


def test_what_is_not_said_is_marked(found):
    said = {name: f"what {name} is" for name in (*LINES, *ANSWERS)}
    everything = write_page(found, Cover(**said))
    assert "<mark>" not in everything
    assert all(text in everything for text in said.values())
    page = write_page(found, Cover())
    assert page.count("<mark>") == 9  # but for title and organisation
    assert page.count("to be filled in: ") == len(ANSWERS)


def test_covers_from_files(tmp_path, found):
    file = tmp_path / "cover.toml"
    file.write_text('title = "A study"\ndate = 2026-03-01\naccess = "Two people."\n')
    assert Cover.load(file) == Cover(title="A study", date="2026-03-01", access="Two people.")
    for text, why in [
        ('titel = "x"', "got 'titel'; did you mean title"),
        ("title = 3", "title must be a text, got 3"),
        ('access = "' + 1001 * "x" + '"', "access must have 1 to 1000 characters, got 1001"),
        ("title", "cannot read the cover"),
    ]:
        file.write_text(text)
        with pytest.raises(ValueError, match=why):
            Cover.load(file)
    with pytest.raises(ValueError, match="No such file"):
        Cover.load(tmp_path / "none.toml")
    line = ["report", "krr(2, 1)", "-n", "20", "--delta", "0.1", "--cover", str(file)]
    result = CliRunner().invoke(main, line)
    assert (result.exit_code, "cannot read the cover" in result.stderr) == (2, True)


def test_the_command_line_counts_instead_of_the_cover(tmp_path, monkeypatch):
    covers = []
    monkeypatch.setattr(
        "shuffledp.outputs.review.review_page", lambda _, cover, *rest: covers.append(cover) or "-"
    )
    file = tmp_path / "cover.toml"
    file.write_text('title = "A study"\nversion = "1"\n')
    line = ["report", "krr(2, 1)", "-n", "20", "--delta", "0.1", "--cover", str(file)]
    result = CliRunner().invoke(main, [*line, "--collection-version", "2", "--retention", "A day."])
    assert result.exit_code == 0, result.output
    assert covers == [Cover(title="A study", version="2", retention="A day.")]


EXAMPLES = [one.example for one in MECHANISMS.values() if one.example is not None]


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_mechanism_has_words(text):
    randomizer = parse(text)
    found = portrait(randomizer)
    assert not found.words.startswith("runs krr")
    assert (text in found.words) == (found.words == f"runs {text}")
    for _, share in found.bars:
        assert 0 <= share <= 1
    if found.chart is not None:
        assert all(max(line.y) <= 1 for line in found.chart.lines)


def test_bars_are_how_often_reports_are_drawn():
    rng = np.random.default_rng(5)
    for text in ("krr(k=4, epsilon0=1)", "oue(epsilon0=1, domain_size=4)", "subset(1, 4, 2)"):
        randomizer = parse(text)
        reports = randomizer.randomize(np.zeros(20_000, dtype=int), rng)
        counts = randomizer.support_counts(reports) / 20_000
        (_, own), (_, other) = portrait(randomizer).bars
        assert counts[0] == pytest.approx(own, abs=0.02)
        assert counts[1:] == pytest.approx([other] * 3, abs=0.02)


def test_laws_of_somebody_else_are_not_described():
    class Mine(KRR):
        """Another law."""

    assert portrait(Mine(k=3, epsilon0=1.0)).words.startswith("runs ")
    assert accuracy(Mine(k=3, epsilon0=1.0), Crowd(10)) == []


def test_errors_are_those_of_the_estimates():
    krr = KRR(k=4, epsilon0=1.0)
    p, q = krr.support_probabilities
    largest = max(p * (1 - p), q * (1 - q)) / 1000 / (p - q) ** 2
    first, moved, small = accuracy(krr, Crowd(1000, corrupted=10))
    points = float(first.split("at most ")[1].split()[0])
    assert 100 * math.sqrt(largest) <= points <= 100 * math.sqrt(largest) * 1.001
    assert float(moved.split("up to ")[1].split()[0]) >= 1 / (p - q)
    few = int(small.split("fewer than ")[1].split()[0])
    assert few - 1 <= 2 * 1000 * math.sqrt(q * (1 - q) / 1000 / (p - q) ** 2) <= few
    (mean,) = accuracy(parse("gaussian(sigma=2)"), Crowd(10_000))
    assert mean.startswith("An estimated mean of numbers from 0 to 1 is off by about 0.02")
    both = accuracy(parse("joint(krr(k=4, epsilon0=1), gaussian(sigma=2))"), Crowd(1000))
    assert [said[:12] for said in both] == ["Attribute 0:"] * 2 + ["Attribute 1:"]
    assert accuracy(parse("subsample(krr(k=4, epsilon0=1), rate=0.5)"), Crowd(1000)) == []


@pytest.fixture(scope="module")
def certificate():
    return certify("krr(k=2, epsilon0=1)", 20, target_delta=0.1)


def test_the_certificate_in_a_document_is_verified(tmp_path, found, certificate):
    file = tmp_path / "report.html"
    file.write_text(write_page(found, Cover(), certificate))
    assert certificate_in(file.read_text()) == certificate
    result = CliRunner().invoke(main, ["verify", str(file)])
    assert result.exit_code == 0, result.output
    assert "every statement of the certificate in the document is proved" in result.stdout
    assert "pip install" in file.read_text()
    forged = certificate.to_json().replace('"n": 20', '"n": 21')
    page = file.read_text().replace(address_of(certificate), _address(forged))
    file.write_text(page)
    result = CliRunner().invoke(main, ["verify", str(file)])
    assert (result.exit_code, "not verified" in result.stderr) == (1, True)


def _address(text: str) -> str:
    return "data:application/json;base64," + base64.b64encode(text.encode()).decode()


def test_documents_without_a_certificate(tmp_path, found, certificate):
    page, link = write_page(found, Cover()), f'<a href="{address_of(certificate)}"></a>'
    for text, why in [
        (page, "holds no certificate"),
        (page + link + link, "holds several certificates"),
        (page + '<a href="data:application/json;base64,*"></a>', "is damaged"),
        (page + '<a href="data:application/json;base64,W10="></a>', "must be an object"),
    ]:
        with pytest.raises(CertificateError, match=why):
            certificate_in(text)
        file = tmp_path / "page.html"
        file.write_text(text)
        result = CliRunner().invoke(main, ["verify", str(file)])
        assert (result.exit_code, why in result.stderr) == (1, True)


def test_what_is_no_report():
    with pytest.raises(TypeError, match="report must be one of"):
        review_page("krr(k=2, epsilon0=1)")
