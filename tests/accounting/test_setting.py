"""A setting is one thing, however it is written: object, line, JSON, TOML and file."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import (
    Group,
    MixedAccountant,
    Rounds,
    Setting,
    ShuffleAccountant,
    calibrate_epsilon0,
    parse,
    required_users,
)
from shuffledp.accounting.crowd import crowd_of

TEXTS = [
    "krr(k=10, epsilon0=2)",
    "joint(krr(k=3, epsilon0=1), oue(epsilon0=0.5), at_most=1)",
    "parallel(0.5*blh(epsilon0=1), 0.5*krr(k=2, epsilon0=1))",
    "matrix([[0.75, 0.25], [0.25, 0.75]])",
    "subsample(laplace(epsilon0=1), rate=0.1)",
]

mechanisms = st.sampled_from(TEXTS).map(parse)
counts = st.integers(1, 10**15)
shares = st.one_of(
    st.integers(0, 10**4),
    st.floats(0, 0.99, allow_subnormal=False),
    st.fractions(0, Fraction(99, 100), max_denominator=10**6),
)
of_one = st.builds(
    dict,
    mechanism=st.none() | mechanisms,
    n=st.none() | st.integers(10**6, 10**15),
    corrupted=shares,
    corrupted_adaptively=st.sampled_from([0, 3, 0.005]),
    view=st.sampled_from(["multiset", "sum"]),
    bound=st.sampled_from(["best", "blanket"]),
    rounds=st.integers(1, 10**9),
    at_most=st.none() | st.integers(1, 10**9),
)
of_groups = st.builds(
    dict,
    groups=st.lists(st.builds(Group, mechanisms, counts), min_size=1, max_size=3).map(tuple),
    dummies=st.integers(0, 100),
)
settings_of_anything = st.one_of(of_one, of_groups).map(lambda fields: Setting(**fields))


@given(settings_of_anything)
def test_every_form_says_the_same(setting):
    written = json.loads(json.dumps(setting.to_dict()))
    forms = (
        Setting.from_dict(written),
        Setting.parse(str(setting)),
        Setting.from_toml(setting.to_toml()),
        Setting(**{name: getattr(setting, name) for name in setting.__dataclass_fields__}),
    )
    for other in forms:
        assert other == setting
        assert hash(other) == hash(setting)
        assert str(other) == str(setting)
        if setting.users is not None:  # to the last user
            assert other.crowd == setting.crowd


def test_what_is_as_usual_is_not_written():
    assert Setting().to_dict() == {}
    assert Setting().to_toml() == ""
    assert Setting.parse("") == Setting.parse("open") == Setting()
    assert Setting(mechanism=TEXTS[0], n=9, rounds=1, corrupted=0).to_dict().keys() == {
        "mechanism",
        "n",
    }


def test_shares_stay_shares():
    """A share is one of the users, whatever their number turns out to be."""
    open_one = Setting.parse("krr(k=3, epsilon0=1) corrupted=10%")
    assert open_one.of(n=50).crowd == crowd_of(50, 0.1) == crowd_of(50, 5)
    assert open_one.of(n=1000).crowd.corrupted == 100
    assert Setting.parse("n=10 corrupted=0.1") == Setting(n=10, corrupted=0.1)
    assert Setting.parse("n=10 corrupted=1/3").corrupted == Fraction(1, 3)


def test_files(tmp_path):
    file = tmp_path / "telemetry.toml"
    setting = Setting(mechanism=TEXTS[0], n=10_000, rounds=90, corrupted=0.02)
    setting.save(file)
    assert file.read_text() == (
        'mechanism = "krr(k=10, epsilon0=2.0)"\nn = 10000\ncorrupted = 0.02\nrounds = 90\n'
    )
    assert Setting.load(file) == setting
    file.write_text("# by hand\nmechanism = 'krr(10, 2)'\nn = 10_000\ncorrupted = '2%'\nrounds=90")
    assert Setting.load(file) == setting


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("n = 1.5", "n must be"),
        ("n = 0", "n must be an integer of at least 1"),
        ("n = true", "n must be"),
        ("users = 5", "a setting has mechanism, n, .* got 'users'"),
        ("round = 5", r"got 'round'.*rounds"),
        ("mechanism = 'krr'", "krr"),
        ("mechanism = 5", "5"),
        ("mechanism = 'nothing(3)'", "nothing"),
        ("corrupted = 1.0\nn = 5", "corrupted"),
        ("corrupted = nan", "corrupted"),
        ("corrupted = '100%'", "corrupted"),
        ("corrupted = 'a few'", "corrupted must be a number such as 500.*'a few'"),
        ("n = 5\ncorrupted = 5", "at most 4"),
        ("view = 'all'", "view"),
        ("bound = 'worst'", "bound must be one of best, blanket"),
        ("rounds = 0", "rounds must be"),
        ("at_most = -1", "at_most must be"),
        ("dummies = 5", "dummies must be 0 without groups"),
        ("groups = 5", "groups must be a list, got 5"),
        ("[[groups]]\nn = 5", "each of groups must have mechanism and n"),
        ("n = 5\n[[groups]]\nn = 5\nmechanism = 'krr(3, 1)'", "groups say themselves"),
        ("rounds = 5\n[[groups]]\nn = 5\nmechanism = 'krr(3, 1)'", "rounds must be 1 with groups"),
        ("n = ", "must be TOML"),
        ("n = 5\nn = 6", "must be TOML"),
    ],
)
def test_wrong_files_are_refused_by_name(content, message, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(content)
    with pytest.raises(ValueError, match=f"(?s)cannot read the setting .*wrong.toml.*{message}"):
        Setting.load(file)


def test_missing_files(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read the setting .*: No such file"):
        Setting.load(tmp_path / "none.toml")
    file = tmp_path / "binary.toml"
    file.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="cannot read the setting"):
        Setting.load(file)


@pytest.mark.parametrize(
    "text",
    ["krr(3, 1) n=5 n=6", "krr(3, 1) m=5", "5*krr(3, 1) + krr(3, 2)", "n=5 krr(3, 1)", "n=-5"],
)
def test_wrong_lines(text):
    with pytest.raises(ValueError, match=r"."):
        Setting.parse(text)


def test_what_is_open_is_asked_for():
    with pytest.raises(ValueError, match="must say which mechanism users run, got n=5"):
        Setting(n=5).accountant()
    with pytest.raises(ValueError, match="must say how many users"):
        Setting(mechanism=TEXTS[0]).accountant()
    with pytest.raises(ValueError, match="one round of one mechanism"):
        ShuffleAccountant.of(Setting(mechanism=TEXTS[0], n=5, rounds=2))


def test_everybody_answers_alike():
    """The object and the keywords ask the same."""
    crowd = {"corrupted": 0.1, "view": "multiset", "bound": "blanket"}
    one = Setting(mechanism=TEXTS[0], n=1000, **crowd)
    asked = one.accountant()
    assert isinstance(asked, ShuffleAccountant)
    same = ShuffleAccountant(TEXTS[0], 1000, **crowd)
    assert asked.get_epsilon(1e-6) == same.get_epsilon(1e-6)
    assert repr(asked) == repr(same)
    again = Setting(mechanism=TEXTS[0], n=1000, rounds=5, at_most=3)
    of_rounds = again.accountant()
    assert isinstance(of_rounds, Rounds)
    assert of_rounds.setting == again
    expected = ShuffleAccountant(TEXTS[0], 1000).rounds(5, at_most=3).get_epsilon(1e-6)
    assert of_rounds.get_epsilon(1e-6) == expected
    tiers = Setting.parse("50*krr(k=3, epsilon0=1) + 50*krr(k=3, epsilon0=2) corrupted=10")
    mixed = tiers.accountant()
    assert isinstance(mixed, MixedAccountant)
    assert mixed.get_epsilon(1e-3) == MixedAccountant(tiers.groups, corrupted=10).get_epsilon(1e-3)


def test_solutions_are_complete_settings():
    found = required_users(TEXTS[0], target_epsilon=1.0, target_delta=1e-6, corrupted=0.1)
    assert found.setting == Setting(mechanism=TEXTS[0], n=found.n, corrupted=0.1)
    assert found.setting.accountant().get_epsilon(1e-6) <= 1.0
    level = calibrate_epsilon0("krr(k=10)", n=1000, target_epsilon=1.0, target_delta=1e-6, rounds=2)
    assert level.setting == Setting(mechanism=level.mechanism, n=1000, rounds=2)
    assert level.setting.accountant().get_epsilon(1e-6) <= 1.0
