"""``compare()``: the numbers are those of the accountant, as arrays, tables and pictures."""

from __future__ import annotations

import copy
import math
import sys
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from blankets import blanket_accountant

import shuffledp
from shuffledp import KRR, ShuffleAccountant, compare
from shuffledp.basics.errors import AccuracyWarning, NoAnswerError
from shuffledp.basics.extras import MissingExtraError
from shuffledp.comparison import BOUNDS
from shuffledp.comparison.published import BASELINES

TEXT = "krr(k=10, epsilon0=2)"
KRR10 = KRR(k=10, epsilon0=2.0)


@pytest.fixture(scope="module")
def found() -> shuffledp.Comparison:
    return compare(TEXT, 10_000, 1e-6)


def test_values_are_those_of_the_accountant_and_of_the_baselines(found):
    accountant = ShuffleAccountant(KRR10, 10_000)
    assert found.bounds == tuple(BOUNDS)
    values = dict(zip(found.bounds, found.epsilon, strict=True))
    assert values.pop("guarantee") == accountant.get_epsilon(1e-6)
    assert values.pop("lower_bound") == accountant.epsilon_lower_bound(1e-6)
    assert values.pop("blanket") == blanket_accountant(KRR10, 10_000).get_epsilon(1e-6)
    for name, value in values.items():
        if math.isnan(value):
            with pytest.raises(NoAnswerError):
                BASELINES[name](KRR10, 10_000).get_epsilon(1e-6)
        else:
            assert value == BASELINES[name](KRR10, 10_000).get_epsilon(1e-6)


def test_text_and_object_are_the_same_question(found):
    assert compare(KRR10, 10_000, target_delta=1e-6) == found
    assert found.randomizer == KRR10


def test_arrays(found):
    for values in (found.epsilon, found.ratio_to_ours, found.ratio_to_lower_bound):
        assert values.dtype == np.float64
        assert values.shape == (len(BOUNDS),)
        answered = [row.epsilon is not None for row in found.rows]
        assert np.isfinite(values).tolist() == answered
    with np.errstate(invalid="ignore"):
        ratios = found.epsilon / found.epsilon[0]
    np.testing.assert_array_equal(found.ratio_to_ours, ratios)


def test_shown_texts(found):
    assert repr(found) == (
        f"<{len(BOUNDS)} bounds on epsilon: krr(k=10, epsilon0=2.0), 10,000 users, delta = 1e-6>"
    )
    assert str(found).startswith("mechanism  krr(k=10, epsilon0=2.0)\nusers      10,000\n")
    assert ", 1 user, " in repr(compare(TEXT, 1, 0.1))


def test_to_pandas(found):
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert frame.index.tolist() == list(BOUNDS)
    assert frame.index.name == "bound"
    np.testing.assert_array_equal(frame["epsilon"].to_numpy(), found.epsilon)
    np.testing.assert_array_equal(frame["ratio_to_ours"].to_numpy(), found.ratio_to_ours)
    assert frame.loc["erlingsson", "reason"] == "it needs epsilon0 below 1/2, got 2"
    assert frame.loc["lower_bound", "kind"] == "lower"


def test_missing_pandas_says_what_to_install(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r'pip install "shuffledp\[pandas\]"'):
        found.to_pandas()
    assert issubclass(MissingExtraError, ImportError)


def test_missing_matplotlib_says_what_to_install(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "shuffledp\[plot\]"'):
        found.plot()


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


def test_plot_on_given_axes(found, pyplot):
    _, ax = pyplot.subplots()
    assert found.plot(ax) is ax
    assert found.plot(ax=ax) is ax
    assert pyplot.get_fignums() == [1]


def test_plot_shows_every_answer(found, pyplot):
    axes = found.plot()
    drawn = {
        round(float(line.get_ydata()[0])): float(line.get_xdata()[0]) for line in axes.get_lines()
    }
    assert drawn == {i: row.epsilon for i, row in enumerate(found.rows) if row.epsilon is not None}
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == [row.cells[0] for row in found.rows]
    missing = [i for i, row in enumerate(found.rows) if row.epsilon is None]
    assert [(text.get_text(), text.get_position()[1]) for text in axes.texts] == [
        ("no answer", i) for i in missing
    ]
    axes.figure.draw_without_rendering()
    title = axes._left_title
    assert " ".join(title.get_text().split()) == found.title
    assert title.get_window_extent().x1 <= axes.figure.bbox.x1
    low, high = axes.get_xlim()
    assert 0 < low < min(drawn.values()) <= max(drawn.values()) < high


def test_plot_of_zero_says_so(pyplot):
    axes = compare("matrix([[0.5, 0.5], [0.5, 0.5]])", 9, 0.1).plot()
    assert "0" in [text.get_text() for text in axes.texts]


def test_notebook_display_is_a_table(found):
    root = ET.fromstring(found._repr_html_())
    assert root.tag == "table"
    rows = root.find("tbody").findall("tr")
    assert len(rows) == len(BOUNDS)
    texts = ["".join(row.itertext()) for row in rows]
    assert texts[0] == "".join(found.rows[0].cells)
    assert texts[3] == "Erlingsson et al. 2019no answer: it needs epsilon0 below 1/2, got 2"


def test_notebook_display_is_escaped(found, tmp_path):
    file = tmp_path / "<img src=x onerror=alert(1)>&.csv"
    file.write_text("0.5,0.5\n0.25,0.75\n")
    other = copy.copy(found)
    rows = shuffledp.MatrixRandomizer.from_file(str(file))
    object.__setattr__(other, "setting", other.setting.of(rows))
    for text in (other._repr_html_(), compare(other.randomizer, 9, 0.1)._repr_html_()):
        assert "<img" not in text
        ET.fromstring(text)


@pytest.mark.heavy
def test_missed_precision_is_a_warning():
    with pytest.warns(AccuracyWarning, match="valid but wider than rtol") as caught:
        compare(KRR(k=3, epsilon0=1.0), 10**15, 1e-12, rtol=1e-10)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(TEXT, 100, 1e-3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 10, 0.1), TypeError, "randomizer must be a local randomizer such as"),
        (("krr(k=10", 10, 0.1), ValueError, "mechanism must look like"),
        ((TEXT, 0, 0.1), ValueError, "n must be an integer of at least 1"),
        ((TEXT, 10, 2.0), ValueError, "target_delta must be between 0 and 1"),
        ((TEXT, 10, "1e-6"), TypeError, "target_delta must be a real number"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        compare(*arguments)


def test_bad_rtol():
    with pytest.raises(ValueError, match="rtol must be between"):
        compare(TEXT, 10, 0.1, rtol=1)
