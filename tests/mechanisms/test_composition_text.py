"""The text form of compositions: reading back, families, and helpful errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import calibrate_epsilon0, one_of, parallel, parse
from shuffledp.mechanisms import (
    COMPOSITIONS,
    KRR,
    OUE,
    Joint,
    Laplace,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Parallel,
    Subsample,
    joint,
    parse_family,
    subsample,
)

leaves: st.SearchStrategy[LocalRandomizer] = st.one_of(
    st.builds(KRR, k=st.integers(2, 1000), epsilon0=st.floats(1e-6, 50)),
    st.builds(OUE, epsilon0=st.floats(1e-6, 50)),
    st.builds(Laplace, epsilon0=st.floats(1e-6, 50)),
    st.just(MatrixRandomizer([[0.75, 0.25], [0.125, 0.875]])),
)


@st.composite
def joints(draw, parts):
    chosen = draw(st.lists(parts, min_size=1, max_size=3))
    limit = draw(st.integers(1, len(chosen)))
    name = draw(st.sampled_from([None, "at_most", "exactly"]))
    return joint(*chosen, **({} if name is None else {name: limit}))


@st.composite
def parallels(draw, parts):
    chosen = draw(st.lists(parts, min_size=1, max_size=3))
    shares = [draw(st.floats(0.1, 1.0)) for _ in chosen]
    weights = [share / sum(shares) for share in shares]
    try:
        return Parallel(tuple(chosen), tuple(weights))
    except ValueError:  # parts that do not read the same value
        return OneOf(tuple(chosen), tuple(weights))


def compositions(parts):
    return st.one_of(
        joints(parts),
        parallels(parts),
        st.builds(subsample, parts, st.floats(1e-6, 1.0)),
    )


@settings(max_examples=100)
@given(st.recursive(leaves, compositions, max_leaves=6))
def test_text_reads_back(randomizer):
    text = str(randomizer)
    again = parse(text)
    assert again == randomizer
    assert type(again) is type(randomizer)
    assert hash(again) == hash(randomizer)
    assert str(again) == text


def test_all_compositions_have_a_name():
    assert set(COMPOSITIONS) == {"joint", "parallel", "one_of", "subsample"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("joint(krr(2, 1), oue(1))", joint(KRR(2, 1.0), OUE(1.0))),
        ("joint(krr(2, 1), oue(1), at_most=1)", joint(KRR(2, 1.0), OUE(1.0), at_most=1)),
        ("joint(krr(2, 1), oue(1), exactly=2.0)", joint(KRR(2, 1.0), OUE(1.0), exactly=2)),
        ("subsample(krr(2, 1), 0.5)", subsample(KRR(2, 1.0), 0.5)),
        (" subsample( krr(2, 1),\n rate = 1 ) ", subsample(KRR(2, 1.0), 1.0)),
        ("parallel(0.5*krr(2, 1), 0.5*oue(1))", parallel({KRR(2, 1.0): 0.5, OUE(1.0): 0.5})),
        ("one_of(0.5*krr(2, 1), 0.5*oue(1))", one_of({KRR(2, 1.0): 0.5, OUE(1.0): 0.5})),
        ("parallel(1*oue(1))", parallel({OUE(1.0): 1.0})),
    ],
)
def test_spellings(text, expected):
    assert parse(text) == expected


def test_families_fill_in_what_is_missing():
    family = parse_family("joint(krr(k=10), oue(epsilon0=0.5), subsample(laplace(), rate=0.5))")
    made = family(2.0)
    assert isinstance(made, Joint)
    assert [part.epsilon0 for part in made.parts] == [2.0, 0.5, 2.0]
    assert isinstance(made.parts[2], Subsample)
    nested = parse_family("parallel(0.5*joint(oue(), krr(k=3)), 0.5*joint(oue(), oue()))")(0.75)
    assert [part.epsilon0 for half in nested.parts for part in half.parts] == [0.75] * 4
    assert parse_family("joint(gaussian(sigma=1), oue())")(0.5).parts[1].epsilon0 == 0.5


def test_families_without_anything_to_fill_in():
    with pytest.raises(ValueError, match="epsilon0 is what is looked for"):
        parse_family("joint(oue(epsilon0=1), krr(k=2, epsilon0=1))")
    with pytest.raises(ValueError, match="epsilon0 is what is looked for"):
        parse_family("subsample(gaussian(sigma=1), rate=0.5)")


def test_families_report_bad_parameters_at_once():
    with pytest.raises(ValueError, match="weights of parallel must sum to 1"):
        parse_family("parallel(0.5*oue())")
    with pytest.raises(ValueError, match="k must be an integer of at least 2"):
        parse_family("joint(krr(k=1), oue())")


@pytest.mark.heavy
def test_calibrating_a_composition():
    level = calibrate_epsilon0(
        "joint(krr(k=4), krr(k=4))", n=1000, target_epsilon=0.5, target_delta=1e-6
    )
    single = calibrate_epsilon0("krr(k=4)", n=1000, target_epsilon=0.5, target_delta=1e-6)
    assert single.epsilon0 / 2 < level.epsilon0 < single.epsilon0
    sampled = calibrate_epsilon0(
        "subsample(krr(k=4), rate=0.5)", n=1000, target_epsilon=0.5, target_delta=1e-6
    )
    assert sampled.epsilon0 > single.epsilon0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("joint()", "joint needs at least one randomizer"),
        ("parallel()", "parallel needs at least one randomizer"),
        ("subsample()", "subsample takes one mechanism and its rate"),
        ("subsample(oue(1))", "subsample takes one mechanism and its rate"),
        ("subsample(rate=0.5)", "subsample takes one mechanism and its rate"),
        ("subsample(oue(1), 0.5, rate=0.5)", "subsample takes one mechanism and its rate"),
        ("subsample(oue(1), oue(1))", "parameters must be numbers"),
        ("subsample(oue(1), rate=0)", "rate must be greater than 0 and at most 1, got 0"),
        ("subsample(oue(1), rate=-0.5)", "rate must be greater than 0 and at most 1, got -0.5"),
        ("subsample(oue(1), rate=1.5)", "rate must be greater than 0 and at most 1, got 1.5"),
        ("subsample(oue(1), rate=True)", "rate must be a real number"),
        ("subsample(oue(1), rate='a')", "rate must be a real number"),
        ("subsample(oue(1), share=0.5)", "subsample has no parameter 'share'; it takes rate"),
        ("parallel(0.5*oue(1), 0.4*oue(1))", "weights of parallel must sum to 1, got [0.5, 0.4]"),
        ("parallel(oue(1))", "parallel takes terms such as 0.5*krr"),
        ("parallel(0.5*oue(1), oue(1))", "parallel takes terms such as 0.5*krr"),
        ("parallel(0*oue(1), 1*oue(1))", "weights must be greater than 0"),
        ("parallel(-1*oue(1), 2*oue(1))", "weights must be greater than 0"),
        ("parallel('a'*oue(1))", "weights must be a real number"),
        ("parallel(1*oue(1), weights=[1])", "parallel has no parameter 'weights'"),
        ("joint(oue(1), at_most=2)", "at_most must be an integer of at least 1 and at most 1"),
        ("joint(oue(1), at_most=0)", "at_most must be an integer of at least 1 and at most 1"),
        ("joint(oue(1), exactly=1.5)", "exactly must be an integer of at least 1 and at most 1"),
        ("joint(oue(1), exactly='1')", "exactly must be an integer"),
        ("joint(oue(1), exactly=1, at_most=1)", "at_most and exactly cannot both be given"),
        ("joint(oue(1), d=1)", "joint has no parameter 'd'; it takes at_most, exactly"),
        ("joint(oue(1), **{'a': 1})", "joint has no parameter"),
        ("joint(*[oue(1)])", "mechanism must look like"),
        ("joint(3)", "mechanism must look like"),
        ("joint(oue)", "needs its parameters in parentheses"),
        ("joint(oeu(1))", "unknown mechanism 'oeu'; known: krr"),
        ("jiont(oue(1))", "unknown mechanism 'jiont'; known: krr"),
        ("joint(oue(1), krr(k=1, epsilon0=1))", "krr: k must be an integer of at least 2"),
        ("joint(oue())", "oue needs epsilon0"),
        ("joint", "needs its parameters in parentheses"),
        ("joint(any_pure_ldp(1), oue(1))", "use any_pure_ldp with the LDP level of the whole"),
        ("parallel(1*any_pure_ldp(1))", "use any_pure_ldp with the LDP level of the whole"),
        ("joint(subsample(any_pure_ldp(1), 0.5))", "cannot be a part of"),
    ],
)
def test_errors(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("depth", [20, 90, 500, 5000, 50_000])
@pytest.mark.parametrize(("start", "end"), [("joint(", ")"), ("subsample(", ", 0.9)")])
def test_deep_nesting_is_read_or_refused(depth, start, end):
    text = start * depth + "oue(1)" + end * depth
    try:
        randomizer = parse(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"^.{1,500}$"):
            parse(text)
    else:
        assert parse(str(randomizer)) == randomizer


def test_moderately_deep_nesting_is_read():
    randomizer = parse("subsample(" * 20 + "joint(oue(1), krr(2, 1))" + ", 0.9)" * 20)
    assert randomizer.epsilon0 == 2.0
