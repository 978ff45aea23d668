"""Randomizers given by a matrix: validation, laws, equality."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import (
    assert_masses_of_laws,
    assert_same_law,
    backgrounds,
    encloses,
    krr_matrix,
    mp,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.basics.balls import ball
from shuffledp.basics.balls import precision as balls
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import KRR, MatrixRandomizer, Pair, parse

BINARY = [[0.75, 0.25], [0.25, 0.75]]


def exact_rows(matrix) -> list[list[Fraction]]:
    """Every row divided by its sum, in fractions."""
    rows = [[Fraction(p) for p in row] for row in np.asarray(matrix).tolist()]
    return [[p / sum(row) for p in row] for row in rows]


# Validation


@pytest.mark.parametrize(
    ("matrix", "value", "place"),
    [
        ([[0.5, 0.5], [-0.25, 1.25]], "-0.25", "row 1, column 0"),
        ([[0.5, 0.5], [0.25, 1.75]], "1.75", "row 1, column 1"),
        ([[0.5, math.nan], [0.5, 0.5]], "nan", "row 0, column 1"),
        ([[0.5, 0.5], [math.inf, 0.5]], "inf", "row 1, column 0"),
        ([[0.5, 0.5], [0.5, -math.inf]], "-inf", "row 1, column 1"),
        ([[0.5, 0.5], [0.5, 0.25], [0.25, 0.75]], "0.75", "row 1"),
        ([[0.5, 0.5], [0.25, 0.25]], "0.5", "row 1"),
        ([[0.5, 0.5], [0.5, 0.5 + 1e-9]], "1.000000001", "row 1"),
        ([[0.0, 0.0], [0.5, 0.5]], "0.0", "row 0"),
        ([[0.75, 0.75], [0.5, 0.5]], "1.5", "row 0"),
    ],
)
def test_bad_entries_are_named(matrix, value, place):
    with pytest.raises(ValueError, match="matrix") as error:
        MatrixRandomizer(matrix)
    assert value in str(error.value)
    assert place in str(error.value)


@pytest.mark.parametrize(
    ("matrix", "shape"),
    [
        ([0.5, 0.5], "(2,)"),
        (1.0, "()"),
        ([], "(0,)"),
        ([[]], "(1, 0)"),
        (np.zeros((0, 3)), "(0, 3)"),
        ([[[0.5, 0.5]]], "(1, 1, 2)"),
    ],
)
def test_bad_shapes_are_named(matrix, shape):
    with pytest.raises(ValueError, match="matrix") as error:
        MatrixRandomizer(matrix)
    assert shape in str(error.value)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.5], [1.0]],
        [[0.5, 0.5], 1.0],
        [["a", "b"], ["c", "d"]],
        [["half", 0.5], [0.5, 0.5]],
        "matrix",
        {"rows": 1},
        object(),
        [[object()]],
        [[1 + 0j]],
        [[10**400, 0.5]],
        [[0.5, None]],
    ],
    ids=[
        "ragged",
        "mixed",
        "texts",
        "text",
        "word",
        "mapping",
        "object",
        "objects",
        "complex",
        "huge",
        "missing",
    ],
)
def test_things_that_are_no_matrix(matrix):
    with pytest.raises((TypeError, ValueError), match="matrix"):
        MatrixRandomizer(matrix)


def test_texts_are_not_numbers():
    with pytest.raises((TypeError, ValueError), match="matrix"):
        MatrixRandomizer([["0.5", "0.5"]])


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_imaginary_parts_are_not_dropped():
    with pytest.raises((TypeError, ValueError), match="matrix"):
        MatrixRandomizer(np.array([[0.5 + 0.25j, 0.5]]))


def test_rows_are_not_renormalised():
    row = [0.1] * 10  # sums to 1 - 2^-53 in floating point
    assert sum(row) != 1
    made = MatrixRandomizer([row, row[::-1]])
    assert made.matrix.tolist() == [row, row[::-1]]


def test_matrix_is_a_frozen_copy():
    source = np.array(BINARY)
    made = MatrixRandomizer(source)
    source[0, 0] = 7.0
    assert made.matrix[0, 0] == 0.75
    with pytest.raises(ValueError, match="read-only"):
        made.matrix[0, 0] = 0.5
    with pytest.raises(AttributeError):
        made.matrix = source


def test_accepts_integers_tuples_and_single_precision():
    assert MatrixRandomizer(((1, 0), (0, 1))).matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert MatrixRandomizer(np.array(BINARY, dtype=np.float32)) == MatrixRandomizer(BINARY)


# Laws


def test_one_row_has_nobody_to_tell_apart():
    lonely = MatrixRandomizer([[0.25, 0.75]])
    assert lonely.neighbours() == ()
    assert lonely.epsilon0 == 0
    blanket = lonely.decomposition(Pair(0, 0))
    assert blanket.residual == 0
    assert blanket.ratio0.tolist() == blanket.ratio1.tolist() == [1.0]
    assert blanket.weight.tolist() == [1.0]


def test_identical_rows_reveal_nothing():
    same = MatrixRandomizer([[0.25, 0.75], [0.25, 0.75], [0.25, 0.75]])
    assert same.epsilon0 == 0
    assert same.decomposition(Pair(0, 2)).at(0.0).upper.values.tolist() == [0.0]


def test_neighbours_are_all_ordered_pairs():
    rows = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    found = MatrixRandomizer(rows).neighbours()
    assert len(found) == len(set(found)) == 6
    assert set(found) == {Pair(x, y) for x in range(3) for y in range(3) if x != y}


def test_equal_rows_are_different_inputs():
    made = MatrixRandomizer([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]])
    assert len(made.neighbours()) == 6
    assert len(made.unchanged()) == 3


def test_level_is_the_largest_log_ratio_of_a_column():
    made = MatrixRandomizer([[0.5, 0.3, 0.2], [0.4, 0.1, 0.5], [0.45, 0.15, 0.4]])
    assert made.epsilon0 == pytest.approx(math.log(3), rel=1e-14)


def test_unused_outputs_do_not_count():
    with_zero = MatrixRandomizer([[0.75, 0.0, 0.25], [0.25, 0.0, 0.75]])
    assert with_zero.epsilon0 == pytest.approx(math.log(3))
    assert_same_law(
        with_zero.decomposition(Pair(0, 1)), MatrixRandomizer(BINARY).decomposition(Pair(0, 1))
    )


def test_outputs_some_inputs_never_give_are_singular():
    made = MatrixRandomizer([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
    assert made.epsilon0 == math.inf
    blanket = made.decomposition(Pair(0, 1))
    assert blanket.weight.tolist() == [0.5]
    assert blanket.residual == 0.5
    singular = sorted((float(s.a), float(s.b)) for s in blanket.singular)
    assert singular == [(0.0, 0.25), (0.5, 0.25)]
    # No other user can give these outputs, so at n = 1 and n = infinity alike they add to delta.
    law = blanket.at(math.log(1.5))
    expected = 0.5 - 1.5 * 0.25
    assert float(law.exposed[0]) == float(law.exposed[1]) == pytest.approx(expected, rel=1e-13)


def test_disjoint_outputs_have_no_blanket():
    made = MatrixRandomizer([[1.0, 0.0], [0.0, 1.0]])
    blanket = made.decomposition(Pair(0, 1))
    assert blanket.size == 0
    assert blanket.residual == 1
    assert float(blanket.at(1.0).exposed[0]) == pytest.approx(1, rel=1e-13)
    assert blanket.max_epsilon == math.inf


def test_backgrounds_are_the_rows():
    matrix = np.array([[0.5, 0.3, 0.2], [0.4, 0.1, 0.5], [0.45, 0.15, 0.4]])
    made = backgrounds(MatrixRandomizer(matrix), Pair(0, 1))
    for row, background in zip(matrix, made, strict=True):
        expected = Decomposition.from_coefficients(matrix[0], matrix[1], row)
        assert background.residual == 0
        assert_same_law(background, expected)


@st.composite
def matrices(draw, zeros=False):
    """A few rows that sum to 1 up to rounding."""
    width = draw(st.integers(2, 6))
    entries = st.integers(0 if zeros else 1, 1000)
    drawn = draw(
        st.lists(
            st.lists(entries, min_size=width, max_size=width).filter(any),
            min_size=2,
            max_size=5,
        )
    )
    return [[entry / sum(row) for entry in row] for row in drawn]


@settings(max_examples=60)
@given(rows=matrices(zeros=True))
def test_masses_add_up(rows):
    made = MatrixRandomizer(rows)
    for pair in made.neighbours():
        decompositions = [made.decomposition(pair)]
        decompositions += backgrounds(made, pair)
        for d in decompositions:
            assert_masses_of_laws(d)


@settings(max_examples=60)
@given(rows=matrices(), epsilon=st.floats(-2, 2))
def test_blanket_at_one_user_is_the_divergence_of_two_rows(rows, epsilon):
    """With a single user the bound is the hockey-stick divergence, whatever the blanket."""
    made = MatrixRandomizer(rows)
    for pair in made.neighbours():
        first, second = made.matrix[pair.first], made.matrix[pair.second]
        expected = np.maximum(first - math.exp(epsilon) * second, 0).sum()
        law = made.decomposition(pair).at(epsilon).upper
        assert np.maximum(law.values, 0) @ law.masses == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("level", [1e-9, 1e-6, 1e-3, 0.1, 2.0])
def test_residual(level):
    """The missing mass of the blanket is an exact difference of rows divided by their sums."""
    made = MatrixRandomizer(krr_matrix(3, level))
    laws = exact_rows(made.matrix)
    exact = 1 - sum(map(min, zip(*laws, strict=True)))
    blanket = made.decomposition(Pair(0, 1))
    assert encloses(blanket.residual, exact)


NEARLY_EQUAL = [
    [[0.9999999999995, 5e-13], [0.99999999999999, 1e-14]],
    [[0.9999999999991, 9e-13], [0.99999999999999, 1e-14]],
    [[1 - 2.0**-53, 2.0**-53], [1 - 2.0**-52, 2.0**-52]],
    [[0.1] * 10, [*[0.1] * 8, 0.1 + 2**-55, 0.1]],
    [[0.5, 0.5, 1e-100], [0.5, 0.5, 1e-101]],
    [[0.3, 0.3, 0.4], [0.3, 0.4, 0.3], [0.3 + 1e-13, 0.3, 0.4 - 1e-13]],
    [[0.5, 0.5 + 9e-13], [0.5, 0.5 - 9e-13]],
]


@pytest.mark.parametrize("matrix", NEARLY_EQUAL)
def test_tiny_residuals_are_exact(matrix):
    made = MatrixRandomizer(matrix)
    exact = 1 - sum(map(min, zip(*exact_rows(matrix), strict=True)))
    assert exact > 0
    blanket = made.decomposition(Pair(0, 1))
    assert encloses(blanket.residual, exact)
    assert all(background.residual == 0 for background in backgrounds(made, Pair(0, 1)))


@pytest.mark.parametrize("matrix", NEARLY_EQUAL)
def test_laws_are_rows_divided_by_their_sums(matrix):
    """All decompositions are those of the law that reports are drawn from, within their errors."""
    made, laws = MatrixRandomizer(matrix), exact_rows(matrix)
    assert [made.law(x) for x in range(len(laws))] == laws
    infimum = list(map(min, zip(*laws, strict=True)))
    assert made.smallest_law() == infimum
    assert made.largest_law() == list(map(max, zip(*laws, strict=True)))
    with mp.workdps(300):
        level = max(
            mp.log(mp.mpf(r.numerator) / r.denominator)
            for r in (max(column) / min(column) for column in zip(*laws, strict=True))
        )
        assert made.epsilon0_interval.lower <= level <= made.epsilon0_interval.upper
        assert made.epsilon0 == made.epsilon0_interval.upper <= level * (1 + mp.mpf("1e-14"))
    for common, built in (
        (infimum, made.decomposition(Pair(0, 1))),
        (laws[1], made.decomposition(Pair(0, 1), 1)),
    ):
        assert_encloses(built, laws[0], laws[1], common)


def assert_encloses(built, first, second, common) -> None:
    """Every output belongs to a component whose balls hold its ratios."""
    weights = [Fraction(0)] * built.size
    with balls(600):
        for a, b, c in zip(first, second, common, strict=True):
            logs = [ball(x / c).log() for x in (a, b)]
            (place,) = (
                i
                for i, part in enumerate(built.components)
                if part.log0.overlaps(logs[0]) and part.log1.overlaps(logs[1])
            )
            weights[place] += c
    for weight, part in zip(weights, built.components, strict=True):
        assert encloses(part.weight, weight)


def test_equal_laws_have_no_residual():
    """The rows are proportional, not equal: the same law."""
    half = 0.5 * (1 + 2.0**-50)
    made = MatrixRandomizer([[0.5, 0.5], [half, half]])
    assert sum(made.infimum.law) == 1
    assert made.law(0) == made.law(1)
    assert made.epsilon0 < 1e-28


@settings(max_examples=60)
@given(
    rows=matrices(zeros=True),
    factors=st.lists(st.floats(1 - 9e-13, 1 + 9e-13), min_size=5, max_size=5),
)
def test_infima_are_exact_whatever_the_sums_of_the_rows(rows, factors):
    pairs = zip(rows, factors, strict=False)
    scaled = [[min(p * factor, 1.0) for p in row] for row, factor in pairs]
    made, laws = MatrixRandomizer(scaled), exact_rows(scaled)
    infimum = list(map(min, zip(*laws, strict=True)))
    assert made.smallest_law() == infimum
    assert made.largest_law() == list(map(max, zip(*laws, strict=True)))
    found = made.decomposition(Pair(0, 1)).residual
    residual = 1 - sum(infimum)
    assert encloses(found, residual)


# Equality and text


def test_equality_and_hash():
    one, same = MatrixRandomizer(BINARY), MatrixRandomizer(np.array(BINARY, order="F"))
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same}) == 1
    assert one != MatrixRandomizer([[0.75, 0.25], [0.5, 0.5]])
    assert one != MatrixRandomizer([*BINARY, [0.5, 0.5]])
    assert one != KRR(k=2, epsilon0=math.log(3))
    assert one != "matrix"


def test_path_is_no_part_of_equality():
    assert MatrixRandomizer(BINARY, "somewhere") == MatrixRandomizer(BINARY)
    assert hash(MatrixRandomizer(BINARY, "somewhere")) == hash(MatrixRandomizer(BINARY))


def test_a_class_derived_from_it_is_not_equal():
    """It may state other laws, and answers are kept for what is equal."""

    class Derived(MatrixRandomizer):
        pass

    assert Derived(BINARY) != MatrixRandomizer(BINARY)
    assert MatrixRandomizer(BINARY) != Derived(BINARY)
    assert Derived(BINARY) == Derived(BINARY)


def test_equal_matrices_have_equal_hashes_whatever_the_sign_of_zero():
    plus, minus = MatrixRandomizer([[0.0, 1.0]]), MatrixRandomizer([[-0.0, 1.0]])
    assert plus == minus
    assert hash(plus) == hash(minus)


@settings(max_examples=60)
@given(rows=matrices(zeros=True))
def test_text_form_keeps_every_bit(rows):
    made = MatrixRandomizer(rows)
    again = parse(str(made))
    assert again == made
    assert again.matrix.tobytes() == made.matrix.tobytes()
