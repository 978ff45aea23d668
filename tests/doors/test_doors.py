"""One question at every door: the same number, the same relation, the same assumptions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

import pytest
from doors import CLOSE, DOORS, EXACT, Question, page_of, run, said, shown

from shuffledp import ShuffleAccountant

ONE = "krr(k=4, epsilon0=2)"
LIMITED = "joint(krr(k=4, epsilon0=2), krr(k=3, epsilon0=2), at_most=1)"
TOGETHER = "joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=1), krr(k=2, epsilon0=1), exactly=2)"
SAMPLED = "subsample(joint(krr(k=3, epsilon0=1), krr(k=3, epsilon0=1), at_most=1), rate=0.5)"
NESTED = "one_of(0.5*joint(krr(k=2, epsilon0=1), krr(k=2, epsilon0=1), at_most=1), 0.5*krr(2, 1))"
BITS = "oue(epsilon0=2, domain_size=3)"
SUMS = "joint(oue(epsilon0=2, domain_size=3), oue(epsilon0=1, domain_size=2), at_most=1)"

QUESTIONS = {
    "plain": Question(ONE),
    "at_most": Question(LIMITED),
    "exactly": Question(TOGETHER),
    "sampled": Question(SAMPLED),
    "nested": Question(NESTED),
    "corrupted": Question(ONE, corrupted=300),
    "at_most, corrupted": Question(LIMITED, corrupted=300),
    "sum": Question(BITS, view="sum"),
    "at_most, sum": Question(SUMS, view="sum"),
    "sum, corrupted": Question(BITS, view="sum", corrupted=300),
    "rounds": Question(ONE, times=2),
    "at_most, rounds": Question(LIMITED, times=2),
    "corrupted, rounds": Question(ONE, corrupted=300, times=2),
}
LIMITS = [name for name, one in QUESTIONS.items() if not one.accountant.relation.replaces_input]

#: What every door is asked in the quick tier.
QUICK = ("plain", "at_most", "corrupted", "sum")


def cases(names: Collection[str], quick: Collection[str]) -> list[object]:
    """Parameters of which only some are for the quick tier."""
    return [
        name if name in quick else pytest.param(name, marks=pytest.mark.heavy) for name in names
    ]


#: Questions whose certificates take less than half a minute.
PROVED = [name for name in QUESTIONS if name != "nested"]

#: Who takes no such question.
CLOSED = {
    "sidecar": ("rounds", "corrupted", "nested"),
    "distribution": ("at_most", "exactly", "sampled", "nested"),
    "audit": ("rounds", "corrupted", "sum"),
    "tiers": ("rounds", "sum"),
}

#: Doors that take a second or more.
SLOW = ("document", "certificate", "distribution")


def beside_the_view(facts: tuple[str, ...]) -> set[str]:
    """Facts without the words that say what the analyst sees, which depend on the bound."""
    return {fact for fact in facts if not fact.startswith("the analyst sees")}


def judge(door: str, name: str) -> None:
    question = QUESTIONS[name]
    answer, truth = said(door, question), said("Python", question)
    if answer is None:
        is_closed = any(word in name for word in CLOSED.get(door, ()))
        assert is_closed or (door == "certificate" and question.view == "sum")
        return
    if door in CLOSE:
        least, most = truth.epsilon * (1 - 1e-3), truth.epsilon
        if door == "distribution":  # of the proofs at many epsilons, some of which may be closer
            rounds = question.accountant.rounds(question.times)
            least = rounds.epsilon_lower_bound(question.delta)
        if door == "certificate":  # which may know the blanket bound only
            blanket = ShuffleAccountant(question.mechanism, question.n, bound="blanket")
            most = max(most, blanket.get_epsilon(question.delta))
        assert least <= answer.epsilon <= most * 1.02
    else:
        assert answer.epsilon in (truth.epsilon, shown(truth.epsilon))
    assert answer.relation == truth.relation
    if answer.level is not None and truth.level is not None:
        assert answer.level in (truth.level, shown(truth.level))
    if answer.assumptions is not None:
        expected = beside_the_view(truth.assumptions)
        if door == "ledger" and question.times == 1:  # it speaks of rounds in any case
            expected = {
                f"in each round {fact}" if fact.startswith("the analyst") else fact
                for fact in expected
                if not fact.startswith("neighbouring")
            }
        assert expected <= beside_the_view(answer.assumptions)
        (view,) = {fact for fact in answer.assumptions if fact.startswith("the analyst sees")}
        assert ("sum" in view) == (question.view == "sum")


@pytest.mark.parametrize("name", cases(QUESTIONS, QUICK))
def test_all_doors_say_the_same(name):
    for door in (*EXACT, *CLOSE):
        if door not in SLOW:
            judge(door, name)


@pytest.mark.parametrize("name", cases(PROVED, ["at_most"]))
@pytest.mark.parametrize("door", SLOW)
def test_slow_doors_say_the_same(door, name):
    judge(door, name)


@pytest.mark.parametrize("name", cases(LIMITS, ["at_most"]))
def test_no_door_promises_more_than_the_relation(name):
    """Where a limit is asked about nobody hears that the whole input is protected."""
    question = QUESTIONS[name]
    for door in DOORS:
        if door == "certificate" and name not in PROVED:
            continue
        answer = said(door, question)
        if answer is not None and answer.assumptions is not None:
            assert not any("replace the input" in fact for fact in answer.assumptions)
    page = page_of(question)
    assert "Whatever one person's data are replaced by" not in page
    assert "No single person's data" not in page
    whole = question.accountant.randomizer.domain_epsilon0
    row = re.search(r"<td>\w+ report with its sender, whatever changes</td>.*?>([^<]+)<", page)
    assert whole <= float(row.group(1)) <= whole * 1.001


@pytest.mark.parametrize("name", cases(PROVED, ["at_most"]))
def test_commands_of_a_document_print_its_numbers(name):
    page, answer = page_of(QUESTIONS[name]), said("document", QUESTIONS[name])
    lines = " ".join(re.findall(r"<pre>(shuffledp.*?)</pre>", page))
    cell = "<td[^>]*>([^<]*)</td>"
    published = {title: epsilon for title, epsilon, _ in re.findall(f"<tr[^>]*>{3 * cell}", page)}
    for line in lines.split("shuffledp")[1:]:
        command, *arguments = shlex.split(line)
        text = run(command, *arguments)
        flat = " ".join(text.split())
        if command == "epsilon":
            assert re.search(rf"^guarantee +epsilon = {re.escape(answer.epsilon)}\b", text, re.M)
            neighbours = re.search(r"for neighbouring datasets that (.*?)\. ", page).group(1)
            assert f"for neighbouring datasets that {neighbours}" in flat
        elif command == "compare":
            rows = re.findall(r"^(\S.*?)  +(\d\S*)  +\S+  +\S+$", text, re.M)
            assert len(rows) >= 3
            assert all(published[title] == epsilon for title, epsilon in rows)
            assert name not in LIMITS or answer.relation in flat
        else:
            assert command == "certify"
            proved = re.search(r'"statement": "[^"]*?\(([\d.E-]+), ', text).group(1)
            assert float(shown(float(proved))) >= float(answer.epsilon)  # as the page says
            assert f"for neighbouring datasets that {answer.relation}" in flat
