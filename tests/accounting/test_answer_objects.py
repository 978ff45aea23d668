"""The report: a question and its answer as objects, as words, as JSON, in a notebook."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from blankets import blanket_accountant

import shuffledp
from shuffledp import (
    KRR,
    OUE,
    AccuracyWarning,
    Aggregator,
    ContradictionError,
    Gaussian,
    GeneralClone,
    Interval,
    MatrixRandomizer,
    Pair,
    Report,
    ShuffleAccountant,
    joint,
    one_of,
    parallel,
    required_users,
    simulate,
    subsample,
)
from shuffledp.accounting.assumptions import assumptions_of
from shuffledp.basics.errors import NoAnswerError
from shuffledp.bounds.curve import Proved
from shuffledp.bounds.decomposed import Decomposed

TEXT = "krr(k=10, epsilon0=2)"


def epsilon_report() -> Report:
    return ShuffleAccountant(TEXT, 10_000, rtol=1e-3).epsilon_report(1e-6)


def test_it_keeps_its_question() -> None:
    report = epsilon_report()
    assert (report.randomizer, report.n) == (KRR(k=10, epsilon0=2.0), 10_000)
    assert (report.quantity, report.target, report.rtol) == ("epsilon", 1e-6, 1e-3)
    assert (report.target_epsilon, report.target_delta) == (None, 1e-6)
    other = ShuffleAccountant(TEXT, 10_000).delta_report(0.0)
    assert (other.quantity, other.target_epsilon, other.target_delta) == ("delta", 0.0, None)
    assert report.bound == "blanket"


def test_it_can_be_asked_further() -> None:
    report = epsilon_report()
    accountant = ShuffleAccountant(TEXT, 10_000, rtol=1e-3)
    assert report.delta_at(0.1) == accountant.get_delta(0.1)
    assert report.epsilon_at(1e-8) == accountant.get_epsilon(1e-8)
    assert report.delta_at(report.guarantee.upper) <= 1e-6


@pytest.mark.parametrize(
    ("text", "n"), [(TEXT, 100), ("gaussian(sigma=1)", 1), ("matrix([[0.5, 0.5]])", 3)]
)
def test_its_fields_are_json(text: str, n: int) -> None:
    accountant = ShuffleAccountant(text, n)
    for report in (accountant.epsilon_report(0.0), accountant.delta_report(0.3)):
        fields = report.to_dict()
        assert json.loads(json.dumps(fields, allow_nan=False)) == fields
        assert fields["assumptions"] == list(assumptions_of([accountant.randomizer]))
        upper = report.guarantee.upper
        assert fields["guarantee"]["upper"] == (upper if upper < math.inf else None)
        assert ("log_guarantee" in fields) == (report.quantity == "delta")


def test_it_names_pairs_and_datasets_in_words_only_at_the_end() -> None:
    report = epsilon_report()
    fields = report.to_dict()
    assert (fields["worst_pair"], report.worst_pair) == ("x1 = 0 vs 1", Pair(0, 1))
    assert fields["datasets"] == str(report.datasets) == "x1 = 0 vs 1, all others hold 2"
    nothing = ShuffleAccountant("matrix([[0.5, 0.5]])", 3).epsilon_report(0.1)
    assert (nothing.worst_pair, nothing.datasets) == (None, None)
    assert nothing.to_dict()["datasets"] == "no two inputs differ"
    assert replace(report, datasets=None).to_dict()["datasets"] == "none are known"


def test_its_text_is_short_and_on_the_safe_side() -> None:
    first, second = str(epsilon_report()).splitlines()
    assert first == "epsilon <= 0.07983 at delta = 1e-6 for 10,000 users of krr(k=10, epsilon0=2.0)"
    assert second == "(no analysis can prove less than 0.07978)"
    tiny = ShuffleAccountant(TEXT, 10**6).delta_report(1.2)
    assert tiny.lower_bound == 0
    assert "e-" in str(tiny).splitlines()[1]
    nothing = ShuffleAccountant("matrix([[0.5, 0.5]])", 3).epsilon_report(0.0)
    assert str(nothing) == "epsilon <= 0 at delta = 0 for 3 users of matrix([[0.5, 0.5]])"
    endless = ShuffleAccountant("matrix([[1.0, 0.0], [0.5, 0.5]])", 3).epsilon_report(0.0)
    assert str(endless).startswith("epsilon <= infinity at delta = 0 for 3 users of ")
    wide = ShuffleAccountant(MatrixRandomizer([[0.05] * 20] * 2), 3).epsilon_report(0.0)
    assert str(wide).endswith(" more characters)")


@dataclass(frozen=True)
class Injected(KRR):
    """A mechanism of one's own whose name is not for browsers."""

    name = "<script>alert(1)</script>&"


def test_the_notebook_shows_a_table_and_runs_nothing() -> None:
    page = ShuffleAccountant(Injected(k=3, epsilon0=1.0), 50).epsilon_report(1e-3)._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<tr>") == page.count("</tr>") == 9
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;(k=3, epsilon0=1.0)" in page
    assert "epsilon &lt;= " in page


def test_reprs_show_what_differs_from_the_default() -> None:
    krr = KRR(k=10, epsilon0=2.0)
    assert repr(ShuffleAccountant(krr, 9)) == "ShuffleAccountant(KRR(k=10, epsilon0=2.0), n=9)"
    assert repr(ShuffleAccountant(krr, 9, rtol=0.01)).endswith(", n=9, rtol=0.01)")
    assert repr(OUE(1.0)) == "OUE(epsilon0=1.0)"
    assert repr(OUE(1.0, domain_size=4)) == "OUE(epsilon0=1.0, domain_size=4)"
    assert repr(Gaussian(2.0)) == "Gaussian(sigma=2.0)"
    matrix = MatrixRandomizer([[0.5, 0.5], [0.25, 0.75]])
    whole = joint(krr, subsample(matrix, 0.5), at_most=1)
    expected = "Joint(parts=(KRR(k=10, epsilon0=2.0), Subsample(part=MatrixRandomizer([[0.5, 0.5], "
    assert repr(whole) == f"{expected}[0.25, 0.75]]), rate=0.5)), at_most=1)"


MATRIX = "matrix([[0.75, 0.25], [0.25, 0.75]])"


def test_a_text_is_as_good_as_a_mechanism() -> None:
    krr, oue, matrix = KRR(k=10, epsilon0=2.0), OUE(1.0, domain_size=10), shuffledp.parse(MATRIX)
    target = {"target_epsilon": 0.5, "target_delta": 1e-3}
    assert ShuffleAccountant(TEXT, 10).randomizer == krr
    assert required_users(TEXT, **target) == required_users(krr, **target)
    assert joint(TEXT, oue) == joint(krr, str(oue)) == joint(krr, oue)
    assert subsample(TEXT, 0.5) == subsample(krr, 0.5)
    assert one_of({TEXT: 0.5, str(oue): 0.5}) == one_of({krr: 0.5, oue: 0.5})
    assert parallel({TEXT: 0.5, str(oue): 0.5}) == parallel({krr: 0.5, oue: 0.5})
    assert Aggregator(TEXT).randomizer == krr
    assert simulate(TEXT, [1, 2, 3]).n == 3
    assert isinstance(matrix, MatrixRandomizer)
    for make in (GeneralClone.primary, GeneralClone.simplified, GeneralClone.standard):
        assert make(MATRIX, Pair(0, 1)).randomizer == matrix
    clone = GeneralClone.stronger(MATRIX, Pair(0, 1))
    again = GeneralClone(MATRIX, Pair(0, 1), clone.components, clone.a, clone.b, clone.c)
    assert again.delta_interval(10, 0.1) == clone.delta_interval(10, 0.1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda text: ShuffleAccountant(text, 10),
        lambda text: required_users(text, target_epsilon=0.5, target_delta=1e-3),
        joint,
        lambda text: subsample(text, 0.5),
        lambda text: one_of({text: 1.0}),
        lambda text: parallel({text: 1.0}),
        Aggregator,
        lambda text: simulate(text, [1]),
        lambda text: GeneralClone.primary(text, Pair(0, 1)),
    ],
)
def test_a_wrong_text_says_what_is_known(ask: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match="unknown mechanism 'kr'; known: krr, "):
        ask("kr(k=3)")


def widen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is proved from above be far from what is proved from below."""
    proved = Decomposed.above
    monkeypatch.setattr(
        Decomposed, "above", lambda self, e: Proved(proved(self, e).log + 0.5, self.where)
    )


ACCOUNTANT = blanket_accountant(TEXT, 100)
REPORT = ACCOUNTANT.epsilon_report(1e-3)

QUESTIONS: dict[str, Callable[[], object]] = {
    "get_epsilon": lambda: ACCOUNTANT.get_epsilon(1e-6),
    "epsilon_interval": lambda: ACCOUNTANT.epsilon_interval(1e-6),
    "get_delta": lambda: ACCOUNTANT.get_delta(0.1),
    "delta_interval": lambda: ACCOUNTANT.delta_interval(0.1),
    "log_delta_interval": lambda: ACCOUNTANT.log_delta_interval(0.1),
    "profile": lambda: ACCOUNTANT.profile([0.1]),
    "delta_at": lambda: REPORT.delta_at(0.1),
    "epsilon_at": lambda: REPORT.epsilon_at(1e-6),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_warnings_point_at_the_line_of_the_caller(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    widen(monkeypatch)
    for made in ("choice", "_roots"):  # computed before
        monkeypatch.delitem(vars(ACCOUNTANT), made)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        QUESTIONS[question]()
    (warning,) = caught
    assert warning.category is AccuracyWarning
    assert Path(warning.filename) == Path(__file__)
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[warning.lineno - 1]
    assert f'"{question}": lambda' in line


@pytest.mark.heavy
def test_a_warning_where_the_blanket_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best bound is as wide as the blanket's where there is no other."""
    widen(monkeypatch)
    accountant = ShuffleAccountant("gaussian(sigma=1)", 10**6)
    with pytest.warns(AccuracyWarning, match="epsilon"):
        accountant.get_epsilon(1e-6)
    with pytest.warns(AccuracyWarning, match="delta"):
        accountant.get_delta(0.1)
    assert not accountant.epsilon_report(1e-6).rtol_reached


@dataclass(frozen=True)
class Forgetful(KRR):
    """A mechanism of one's own that forgets to name the pairs to compare."""

    alone = True

    @property
    def has_worst_pair(self) -> bool:
        return self.alone

    def neighbours(self) -> tuple[Pair, ...]:
        return ()


@dataclass(frozen=True)
class ForgetfulPart(Forgetful):
    """Says besides that other pairs have to be looked at, too."""

    alone = False


@pytest.mark.parametrize("make", [Forgetful, ForgetfulPart])
@pytest.mark.parametrize(
    "whole",
    [
        lambda part: part,
        lambda part: subsample(part, 0.5),
        lambda part: joint(part, KRR(3, 1.0)),
        lambda part: joint(part, KRR(3, 1.0), at_most=1),
        lambda part: one_of({part: 0.5, KRR(3, 1.0): 0.5}),
    ],
    ids=["alone", "subsample", "joint", "at_most", "one_of"],
)
def test_no_pairs_never_mean_that_nothing_leaks(make: type, whole: Callable[..., object]) -> None:
    mechanism = whole(make(k=3, epsilon0=1.0))
    for ask in (
        lambda a: a.get_epsilon(1e-6),
        lambda a: a.get_delta(0.1),
        lambda a: a.epsilon_report(1e-6),
        lambda a: a.delta_lower_bound(0.1),
    ):
        with pytest.raises(ContradictionError, match="names no pairs of inputs to compare"):
            ask(ShuffleAccountant(mechanism, 10))  # type: ignore[arg-type]
    with pytest.raises(NoAnswerError, match="its exact law is not known to the prover"):
        shuffledp.certify(ShuffleAccountant(mechanism, 10), target_epsilon=0.1)  # type: ignore[arg-type]


def test_a_proof_does_not_take_missing_pairs_for_no_leak() -> None:
    from decimal import Decimal

    from shuffledp.certificates.proof import Claim, prove_guarantee
    from shuffledp.engine.progress import silent

    mechanism = ForgetfulPart(k=3, epsilon0=1.0)
    with pytest.raises((ContradictionError, NoAnswerError), match=r"names no pairs|not known"):
        prove_guarantee(Claim(mechanism, 10, Decimal("0.1"), Decimal("0")), silent)


def test_one_input_alone_leaks_nothing() -> None:
    report = ShuffleAccountant(MatrixRandomizer([[0.25, 0.75]]), 10).epsilon_report(0.0)
    assert report.guarantee == Interval(0.0, 0.0)
