"""Documents of several rounds: their numbers are those of accountants of all rounds together."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

from shuffledp import Rounds, Setting, ShuffleAccountant
from shuffledp.accounting.operational import tradeoff_below
from shuffledp.basics.rounding import round_up
from shuffledp.cli import main
from shuffledp.outputs.review import Cover, review_page
from shuffledp.outputs.review.findings import Findings
from shuffledp.outputs.review.page import write_page

pytest.importorskip("matplotlib")

RTOL = 0.03
DELTA = 0.01
SETTING = Setting(
    mechanism="krr(k=2, epsilon0=1)", n=40, corrupted=0.1, rounds=4, at_most=2, bound="blanket"
)


@pytest.fixture(scope="module")
def found():
    return Findings(SETTING.accountant(RTOL).epsilon_report(DELTA))


@pytest.fixture(scope="module")
def text(found):
    return flat(write_page(found, Cover()))


def flat(page: str) -> str:
    """What is read, every white space one."""
    page = re.sub(r"(?s)<style>.*?</style>", " ", page)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def certified(setting: Setting, rtol: float | None = RTOL) -> float:
    return setting.accountant(rtol).get_epsilon(DELTA)


def test_the_statement_is_about_all_rounds_together(found, text):
    epsilon = found.report.at_most
    assert "40 users, 4 of them corrupted, each of whom runs krr(k=2, epsilon0=1.0)" in text
    assert "on their own device in at most 2 of 4 rounds, the shuffled reports of all 4" in text
    assert f"together are ({epsilon}, 0.01)-differentially private" in text
    assert "datasets that replace the inputs of one user in all rounds. No single person's" in text
    assert found.report.lower_bound <= found.epsilon == certified(SETTING)
    for fact in found.report.assumptions:
        assert fact in text
    assert "each user takes part in at most 2 of the rounds" in text
    assert "--rounds 4 --at-most 2" in text


def test_what_ifs_are_those_of_all_rounds(found, text):
    assert [case.count for case in found.fewer] == [20]  # four users are corrupted
    assert found.fewer[0].epsilon == certified(replace(SETTING, n=20, corrupted=4))
    assert [case.count for case in found.colluding] == [20]
    assert found.colluding[0].epsilon == certified(replace(SETTING, corrupted=20))
    assert found.always.epsilon == certified(replace(SETTING, at_most=None)) > found.epsilon
    assert found.repeated == []  # nobody takes part in more of them
    alone = Setting(mechanism=SETTING.mechanism, n=1, bound="blanket", rounds=4, at_most=2)
    assert found.all_local == certified(alone) > found.local == 1.0
    assert found.one_round == certified(SETTING.one_round, None) < found.epsilon
    for case in (*found.fewer, *found.colluding, found.always):
        assert round_up(case.epsilon) in text
    assert f"a user's reports of 2 rounds together {round_up(found.all_local)}" in text


def test_attackers_see_all_rounds(found):
    accountant = SETTING.accountant(RTOL)
    assert found.advantage == accountant.advantage() == accountant.get_delta(0.0)
    for rate, hits in found.hits:
        assert 1 - accountant.tradeoff(rate) - RTOL <= hits <= rate + found.advantage + 1e-12
        points = [(x, accountant.delta_lower_bound(x)) for x, _ in found._deltas]
        assert hits + tradeoff_below(points, rate) >= 1 - 1e-12
    upper, lower = found.profile.lines
    assert all(below <= above for below, above in zip(lower.y, upper.y, strict=True))


def test_published_analyses_are_of_one_round(found, text):
    assert "Published analyses are about a single round" in text
    one = ShuffleAccountant(SETTING.mechanism, 40, corrupted=4)
    ours = next(row for row in found.comparison.rows if row.bound == "guarantee")
    assert ours.epsilon == one.get_epsilon(DELTA)


def test_collections_may_go_on_or_be_repeated():
    several = Setting(mechanism="krr(k=2, epsilon0=1)", n=40, rounds=3, bound="blanket")
    found = Findings(several.accountant(RTOL).epsilon_report(DELTA))
    assert [case.count for case in found.repeated] == [6, 30]
    assert found.repeated[0].epsilon == certified(replace(several, rounds=6))
    assert found.always is None


@pytest.mark.heavy
def test_limited_changes_in_rounds():
    mechanism = "joint(krr(k=2, epsilon0=1), krr(k=2, epsilon0=1), at_most=1)"
    setting = Setting(mechanism=mechanism, n=20, rounds=2, bound="blanket")
    page = flat(review_page(setting.accountant(RTOL).epsilon_report(0.1)))
    assert "datasets that change at most 1 of 2 attributes of one user, any in each round." in page
    assert "in at most 1 of 2 attributes, any in each round, no outcome becomes more than" in page
    assert "No single person's data" not in page


def test_rounds_of_several_kinds_have_no_document():
    one, other = (ShuffleAccountant("krr(k=2, epsilon0=1)", n) for n in (10, 20))
    report = Rounds([(one, 1), (other, 1)], rtol=RTOL).epsilon_report(0.1)
    with pytest.raises(ValueError, match="rounds that are all alike"):
        report.to_html()


def test_the_command_takes_a_file(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "shuffledp.outputs.review.review_page", lambda report, *rest: asked.append(report) or "page"
    )
    file, kept = tmp_path / "setting.toml", tmp_path / "kept.toml"
    SETTING.save(file)
    line = ["report", "--setting", str(file), "--delta", str(DELTA), "--rtol", str(RTOL)]
    result = CliRunner().invoke(main, [*line, "--save-setting", str(kept)])
    assert result.stdout == "page", result.output
    assert asked[0].guarantee == SETTING.accountant(RTOL).epsilon_report(DELTA).guarantee
    assert Setting.load(kept) == SETTING
    refused = CliRunner().invoke(main, [*line, "--certify", "--corrupted-adaptively", "1"])
    assert (refused.exit_code, "learned adaptively" in refused.stderr) == (2, True)
    Setting.parse("9*krr(k=2, epsilon0=1) + 9*krr(k=2, epsilon0=2)").save(file)
    groups = CliRunner().invoke(main, line)
    assert (groups.exit_code, "users who run one mechanism" in groups.stderr) == (2, True)
