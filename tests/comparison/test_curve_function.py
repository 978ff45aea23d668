"""``curve()``: the numbers are those of the accountant, as arrays, tables and pictures."""

from __future__ import annotations

import math
import sys
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import shuffledp
from shuffledp import KRR, RAPPOR, ShuffleAccountant, curve
from shuffledp.accounting import Setting
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.basics.extras import MissingExtraError
from shuffledp.comparison import AXES, BOUNDS, Question, sweep

TEXT = "krr(k=10, epsilon0=2)"
KRR10 = KRR(k=10, epsilon0=2.0)
USERS = [100, 1000, 10_000]


@pytest.fixture(scope="module")
def found() -> shuffledp.Curves:
    return curve(
        TEXT, x=USERS, target_delta=1e-6, bounds=["guarantee", "lower_bound", "erlingsson"]
    )


def test_against_users(found):
    guarantee, lower, _ = found.curves
    assert found.x.tolist() == guarantee.x.tolist() == USERS
    for n, upper, below in zip(USERS, guarantee.y, lower.y, strict=True):
        accountant = ShuffleAccountant(KRR10, n)
        assert upper == accountant.get_epsilon(1e-6)
        assert below == accountant.epsilon_lower_bound(1e-6)


def test_arrays(found):
    for item in found.curves:
        assert np.issubdtype(item.x.dtype, np.integer)
        assert item.y.dtype == np.float64
        assert item.rtol_reached.dtype == bool
        assert len(item.x) == len(item.y) == len(item.reasons) == len(item.rtol_reached) == 3
    gap = found.curves[2]
    assert np.isnan(gap.y).all()
    assert gap.reasons == ("it needs epsilon0 below 1/2, got 2",) * 3
    assert found.notes == (
        "Erlingsson et al. 2019: no answer at 3 of 3 points, first at users = 100: "
        "it needs epsilon0 below 1/2, got 2",
    )


def test_against_epsilon0_with_text_and_functions():
    levels = np.array([0.5, 1.0])
    found = curve(
        ["krr(k=10)", RAPPOR, lambda level: KRR(k=3, epsilon0=level)],
        "epsilon0",
        levels,
        n=1000,
        target_delta=1e-6,
        bounds="guarantee",
    )
    assert [item.mechanism for item in found.curves] == ["krr(k=10)", "RAPPOR", "<lambda>"]
    for item, make in zip(
        found.curves, (lambda e: KRR(10, e), RAPPOR, lambda e: KRR(3, e)), strict=True
    ):
        wanted = [ShuffleAccountant(make(e), 1000).get_epsilon(1e-6) for e in (0.5, 1.0)]
        assert item.y.tolist() == wanted


def test_against_delta_and_epsilon():
    accountant = ShuffleAccountant(KRR10, 1000)
    (item,) = curve(KRR10, "delta", [1e-9, 1e-6], n=1000, bounds="guarantee").curves
    assert item.y.tolist() == [accountant.get_epsilon(delta) for delta in (1e-9, 1e-6)]
    profile = curve(KRR10, "epsilon", [0.0, 0.1], n=1000, bounds="guarantee")
    assert profile.quantity == "delta"
    assert profile.curves[0].y.tolist() == [accountant.get_delta(e) for e in (0.0, 0.1)]


@pytest.mark.heavy
def test_default_points():
    found = curve(KRR10, target_delta=1e-6, bounds="guarantee", rtol=0.1)
    assert found.x[[0, -1]].tolist() == [1000, 10**6]
    assert len(found.x) == 50
    profile = curve(KRR10, "epsilon", n=1000, bounds="guarantee", rtol=0.1)
    assert profile.x[0] == 0
    assert 0 < profile.curves[0].y[-1] <= 1.2e-12


def test_all_bounds_in_order_and_once():
    assert [c.bound for c in curve(TEXT, x=[9], target_delta=0.1, bounds="all").curves] == [*BOUNDS]
    names = ("erlingsson", "guarantee", "erlingsson")
    found = curve(TEXT, x=[9], target_delta=0.1, bounds=names)
    assert [c.bound for c in found.curves] == ["guarantee", "erlingsson"]


@pytest.mark.heavy
def test_processes_do_not_change_the_numbers(found):
    again = curve(TEXT, x=USERS, target_delta=1e-6, bounds=["guarantee"], processes=2)
    assert again.curves[0] == found.curves[0]


def test_sweep_keeps_series_apart():
    series = {
        name: [
            Question(Setting(mechanism=KRR10, n=n), "epsilon", 1e-6, ("guarantee",)) for n in users
        ]
        for name, users in (("a", (100, 200)), ("none", ()), ("b", (300,)))
    }
    counted = []
    answers = sweep(series, on_done=lambda *state: counted.append(state))
    wanted = {n: ShuffleAccountant(KRR10, n).get_epsilon(1e-6) for n in (100, 200, 300)}
    numbers = {name: [value.number for (value,) in own] for name, own in answers.items()}
    assert numbers == {"a": [wanted[100], wanted[200]], "none": [], "b": [wanted[300]]}
    assert counted == [(1, 3), (2, 3), (3, 3)]
    assert all(value.seconds >= 0 for own in answers.values() for (value,) in own)


def test_to_pandas(found):
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert frame.columns.tolist() == [
        *("mechanism", "relation", "bound", "kind", "users", "epsilon", "reason", "rtol_reached")
    ]
    assert frame["users"].tolist() == USERS * 3
    np.testing.assert_array_equal(
        frame["epsilon"].to_numpy(), np.concatenate([item.y for item in found.curves])
    )
    assert set(frame["mechanism"]) == {str(KRR10)}


def test_missing_packages_say_what_to_install(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pandas: pip install "shuffledp\[pandas\]"'):
        found.to_pandas()
    with pytest.raises(MissingExtraError, match=r'"shuffledp\[plot\]"'):
        found.plot()


class TestPlot:
    @pytest.fixture
    def pyplot(self):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.close("all")
        yield plt
        plt.close("all")

    def test_lines_are_the_numbers(self, found, pyplot):
        axes = found.plot()
        for line, item in zip(axes.get_lines(), found.curves, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), item.x)
            np.testing.assert_array_equal(line.get_ydata(), item.y)
        assert axes.get_title(loc="left") == "krr(k=10, epsilon0=2.0), delta = 1e-6"
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        shown = [text.get_text() for text in axes.get_legend().get_texts()]
        assert shown == ["guarantee", "lower bound", "Erlingsson et al. 2019 (no values)"]

    def test_given_axes_are_used_and_returned(self, found, pyplot):
        figure, (left, right) = pyplot.subplots(1, 2)
        size = figure.get_size_inches().tolist()
        assert found.plot(right) is right
        assert len(right.get_lines()) == 3
        assert not left.get_lines()
        assert figure.get_size_inches().tolist() == size
        assert pyplot.get_fignums() == [1]

    @pytest.mark.heavy
    def test_many_curves_have_a_legend_beside_them(self, pyplot):
        many = curve(TEXT, x=[100, 200], target_delta=1e-3, bounds="all", rtol=0.1)
        texts = ["krr(4, 1)", "krr(5, 1)", "krr(6, 1)"]
        most = curve(texts, x=[100], target_delta=1e-3, bounds="all", rtol=0.1)
        figure = most.plot().figure
        (legend,) = figure.legends
        assert len(legend.get_texts()) == 3 * len(BOUNDS)
        figure.draw_without_rendering()
        assert legend.get_window_extent().y0 >= 0
        _, given = pyplot.subplots()
        legend = many.plot(given).get_legend()
        assert len(legend.get_texts()) == len(BOUNDS)
        assert legend.get_bbox_to_anchor().x0 > given.bbox.x1

    def test_labels_are_no_formulas(self, pyplot):
        def rr_100_dollars(level: float) -> KRR:
            return KRR(k=3, epsilon0=level)

        rr_100_dollars.__name__ = "$\\broken{"
        given = {"n": 100, "target_delta": 0.1}
        axes = curve([rr_100_dollars, "blh()"], "epsilon0", [1.0], **given).plot()
        axes.figure.draw_without_rendering()


def test_notebook_display(found):
    root = ET.fromstring(found._repr_html_())
    head = [cell.text for cell in root.find("thead").iter("th")]
    assert head == ["users", "guarantee", "lower bound", "Erlingsson et al. 2019"]
    rows = [[cell.text for cell in row] for row in root.find("tbody")]
    assert [row[0] for row in rows] == ["100", "1000", "10000"]
    assert [row[3] for row in rows] == ["no answer"] * 3
    image = root.find("tfoot").find(".//img")
    assert image.get("src").startswith("data:image/svg+xml;base64,")
    assert image.get("alt") == "epsilon against number of users"
    for row, upper, lower in zip(rows, found.curves[0].y, found.curves[1].y, strict=True):
        assert upper <= float(row[1]) < upper * 1.002
        assert lower * 0.998 < float(row[2]) <= lower


@pytest.mark.heavy
def test_notebook_display_says_what_it_leaves_out():
    long = curve(TEXT, x=range(100, 160), target_delta=0.1, bounds="guarantee", rtol=0.5)
    rows = ET.fromstring(long._repr_html_()).find("tbody")
    assert len(rows) == 11
    assert rows[5][0].text == "... (50 more points)"


def test_notebook_display_is_escaped():
    def mechanism(level: float) -> KRR:
        return KRR(k=3, epsilon0=level)

    mechanism.__name__ = "<script>alert('&')</script>"
    found = curve(mechanism, "epsilon0", [1.0], n=100, target_delta=0.1)
    text = found._repr_html_()
    assert "<script" not in text
    assert mechanism.__name__ in "".join(ET.fromstring(text).itertext())


def test_repr(found):
    assert repr(found) == "<3 curves of epsilon against users, 3 points each>"
    one = curve(TEXT, x=[9], target_delta=0.1, bounds="guarantee")
    assert repr(one) == "<1 curve of epsilon against users, 1 point each>"


def test_missed_precision_is_a_warning():
    with pytest.warns(AccuracyWarning, match="guarantee: valid but wider than .* at 1 of 1 point"):
        curve("krr(3, 1)", "epsilon", [0.1], n=10**15, rtol=1e-10, bounds="guarantee")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve(TEXT, x=[100], target_delta=0.1)


BAD = [
    ({"against": "time"}, ValueError, "against must be among users, epsilon0, delta, epsilon"),
    ({"against": "user"}, ValueError, r"got 'user'; did you mean users\?"),
    ({"mechanisms": []}, ValueError, "mechanisms must hold at least one mechanism"),
    ({"mechanisms": 3}, TypeError, "mechanisms must be a local randomizer such as"),
    ({"mechanisms": [KRR10, TEXT]}, ValueError, r"'krr\(k=10, epsilon0=2\)' is given twice"),
    ({"mechanisms": "krr(k=10)"}, ValueError, "krr needs epsilon0"),
    ({"x": []}, ValueError, "x must hold at least one point"),
    ({"x": [10, 10]}, ValueError, "x must increase, got 10 before 10"),
    ({"x": [20, 10]}, ValueError, "x must increase, got 20 before 10"),
    ({"x": [10.5]}, ValueError, "x against users must be an integer"),
    ({"x": [0]}, ValueError, "x against users must be an integer of at least 1"),
    ({"x": [math.nan]}, ValueError, "x against users must be an integer"),
    ({"n": 10}, ValueError, "a curve against users takes no n: it varies along the curve"),
    ({"target_delta": None}, ValueError, "a curve against users needs target_delta"),
    ({"target_delta": 2.0}, ValueError, "target_delta must be between 0 and 1"),
    ({"bounds": ()}, ValueError, "bounds must name at least one bound"),
    ({"bounds": "clone"}, ValueError, "bounds must be among guarantee, .*, got 'clone'"),
    ({"bounds": "garantee"}, ValueError, r"did you mean guarantee\?"),
    ({"rtol": 0.0}, ValueError, "rtol must be between"),
    ({"processes": 0}, ValueError, "processes must be at least 1"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_bad_arguments(changes, error, message):
    given = {"mechanisms": TEXT, "x": [10], "target_delta": 0.1} | changes
    with pytest.raises(error, match=message):
        curve(**given)


@pytest.mark.parametrize(
    ("axis", "given", "message"),
    [
        ("users", {}, "against users needs target_delta"),
        ("epsilon0", {"n": 10}, "against epsilon0 needs target_delta"),
        ("epsilon0", {"target_delta": 0.1}, "against epsilon0 needs n"),
        ("epsilon", {}, "against epsilon needs n"),
        ("epsilon", {"n": 10, "target_delta": 0.1}, "against epsilon takes no target_delta"),
        ("delta", {}, "against delta needs n"),
    ],
)
@pytest.mark.parametrize("x", [None, (0.5,)], ids=["default", "given"])
def test_what_stays_must_be_known(axis, given, message, x):
    mechanism = "krr(k=10)" if axis == "epsilon0" else KRR10
    points = (10,) if x and axis == "users" else x
    with pytest.raises(ValueError, match=message):
        curve(mechanism, axis, points, **given)


def test_delta_0_has_no_place_on_its_axis():
    assert AXES["delta"].log
    with pytest.raises(ValueError, match="x against delta must be above 0"):
        curve(TEXT, "delta", [0.0, 0.1], n=10)
    with pytest.raises(TypeError, match="mechanisms must return a local randomizer"):
        curve(abs, "epsilon0", [1.0], n=10, target_delta=0.1)


@pytest.mark.heavy
def test_against_rounds():
    found = curve(
        "krr(k=10, epsilon0=2)",
        "rounds",
        [1, 4, 52],
        n=10_000,
        target_delta=1e-6,
        bounds=("guarantee", "lower_bound", "standard_clone"),
        rtol=1e-2,
    )
    guarantee, lower, published = found.curves
    assert guarantee.x.tolist() == [1, 4, 52]
    rounds = ShuffleAccountant("krr(k=10, epsilon0=2)", 10_000).rounds(52, rtol=1e-2)
    assert guarantee.y[2] == rounds.get_epsilon(1e-6)
    assert (lower.y <= guarantee.y).all()
    assert published.reasons == (None, *("it is an analysis of a single round",) * 2)
    with pytest.raises(ValueError, match="x against rounds must be an integer of at least 1"):
        curve("krr(k=10, epsilon0=2)", "rounds", [0], n=10, target_delta=0.1)
