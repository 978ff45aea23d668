"""What neighbouring datasets do, stated by a relation, is what the domain does."""

from __future__ import annotations

from itertools import product

import pytest

from shuffledp import Relation, parse
from shuffledp.mechanisms import Domain, Integers, joint
from shuffledp.mechanisms.composed.parts import without_limits

#: Mechanisms, and what their neighbouring datasets do.
STATED = {
    "krr(k=3, epsilon0=1)": "replace the input of one user",
    "joint(krr(2, 1), krr(2, 1), krr(2, 1))": "replace the input of one user",
    "joint(krr(2, 1), krr(2, 1), at_most=2)": "replace the input of one user",
    "joint(krr(2, 1), krr(2, 1), at_most=1)": "change at most 1 of 2 attributes of one user",
    "joint(krr(2, 1), krr(2, 1), exactly=1)": "change at most 1 of 2 attributes of one user",
    "joint(krr(2, 1), krr(2, 1), exactly=2)": "change exactly 2 of 2 attributes of one user",
    "subsample(joint(krr(2, 1), krr(3, 1), krr(2, 1), at_most=2), rate=0.5)": (
        "change at most 2 of 3 attributes of one user"
    ),
    "parallel(0.5*joint(krr(2, 1), krr(2, 1), at_most=1), "
    "0.5*joint(krr(2, 2), krr(2, 2), at_most=1))": "change at most 1 of 2 attributes of one user",
    "one_of(0.5*joint(krr(2, 1), krr(2, 1), at_most=1), 0.5*krr(2, 1))": (
        "change any of 2 attributes of one user, attribute 0 in at most 1 of its 2 attributes"
    ),
    "joint(joint(krr(2, 1), joint(krr(2, 1), krr(2, 1), exactly=2)), krr(2, 1), at_most=1)": (
        "change at most 1 of 2 attributes of one user, "
        "attribute 0.1 in exactly 2 of its 2 attributes"
    ),
}


def are_neighbours(relation: dict[str, object], first: object, second: object) -> bool:
    """What the JSON form of a relation says of two inputs; docs/json.md explains it."""
    if relation["attributes"] is None:
        return first != second
    changed = [
        are_neighbours(own, x, y)
        for own, x, y in zip(relation["attributes"], first, second, strict=True)
        if x != y
    ]
    return relation["fewest"] <= len(changed) <= relation["most"] and all(changed)


@pytest.mark.parametrize("text", STATED)
def test_the_words(text):
    relation = parse(text).relation
    assert str(relation) == relation.to_dict()["text"] == STATED[text]
    assert relation.replaces_input == (relation == Relation())


@pytest.mark.parametrize("text", STATED)
def test_its_json_says_which_inputs_are_neighbours(text):
    randomizer = parse(text)
    domain, relation = randomizer.input_domain, randomizer.relation.to_dict()
    for first, second in product(list(domain.inputs()), repeat=2):
        said = are_neighbours(relation, first, second)
        assert said == domain.are_neighbours(first, second)


@pytest.mark.parametrize("text", STATED)
def test_without_limits_any_two_inputs_are_neighbours(text):
    limited = parse(text)
    whole = without_limits(limited)
    assert whole.relation == Relation()
    assert whole.epsilon0 == limited.domain_epsilon0
    assert set(whole.input_domain.inputs()) == set(limited.input_domain.inputs())


def test_a_domain_with_neighbours_of_its_own_has_to_state_them():
    class Line(Integers):
        def are_neighbours(self, first, second):
            return abs(first - second) == 1

    with pytest.raises(TypeError, match="Line has neighbours of its own: it must have a relation"):
        _ = Line(5).relation
    assert isinstance(Line(5), Domain)


def test_relations_of_one_meaning_are_equal():
    free, limited = Relation(), joint("krr(2, 1)", "krr(3, 1)", at_most=1).relation
    assert Relation.of((free, free), 1, 2) == free
    assert Relation.of((free, free), 1, 1) == limited != free
    assert Relation.of((limited, free), 1, 2) != free
    assert len({free, limited, joint("oue(1)", "oue(2)", exactly=1).relation}) == 2
