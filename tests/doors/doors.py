"""Every door through which an answer leaves, asked the same question, and what it says."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner

import shuffledp
from shuffledp import (
    Group,
    Ledger,
    MixedAccountant,
    NoAnswerError,
    ShuffleAccountant,
    certify,
    parse,
)
from shuffledp.basics.rounding import round_up
from shuffledp.cli import main
from shuffledp.cli.answers.served import ask, served
from shuffledp.mechanisms import Domain, Tuples
from shuffledp.outputs.pld import to_pld


@dataclass(frozen=True)
class Question:
    """What is asked: epsilon at a delta."""

    mechanism: str
    n: int = 1000
    corrupted: int = 0
    view: str = "multiset"
    times: int = 1
    delta: float = 1e-3

    @property
    def accountant(self) -> ShuffleAccountant:
        """One round of it."""
        return ShuffleAccountant(self.mechanism, self.n, corrupted=self.corrupted, view=self.view)

    @property
    def arguments(self) -> list[str]:
        """The question on the command line, without its delta."""
        crowd = [] if not self.corrupted else ["--corrupted", str(self.corrupted)]
        view = [] if self.view == "multiset" else ["--view", self.view]
        return [self.mechanism, "-n", str(self.n), *crowd, *view]


@dataclass(frozen=True)
class Said:
    """What a door says; None of what it does not state."""

    epsilon: float | str
    relation: str | None
    assumptions: tuple[str, ...] | None = None
    level: float | str | None = None
    fields: Mapping[str, Any] | None = None


#: What a door says about a question; None if it takes no such question.
Door = Callable[[Question, Path], Said | None]


def run(*arguments: str) -> str:
    """What a command prints."""
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, (arguments, result.output, result.stderr)
    return result.stdout


def python(question: Question, folder: Path) -> Said:
    """A report in Python."""
    if question.times > 1:
        several = question.accountant.rounds(question.times).epsilon_report(question.delta)
        return Said(several.guarantee.upper, str(several.relation), several.assumptions)
    report = question.accountant.epsilon_report(question.delta)
    level = report.to_dict()["ldp_level"]
    return Said(report.guarantee.upper, str(report.relation), report.assumptions, level)


def words(question: Question, folder: Path) -> Said:
    """The text of the command line."""
    name, more = ("epsilon", []) if question.times == 1 else ("rounds", _times(question))
    text = run(name, *question.arguments, *more, "--delta", str(question.delta))
    found = re.search(r"^guarantee +epsilon = (\S+)", text, flags=re.MULTILINE)
    relation = re.search(
        r"-differentially private for neighbouring datasets that (.*?)(;|\.$)",
        " ".join(text.split()),
    )
    return Said(found.group(1), _once(relation.group(1)))


def printed(question: Question, folder: Path) -> Said:
    """The JSON of the command line."""
    name, more = ("epsilon", []) if question.times == 1 else ("rounds", _times(question))
    line = [name, *question.arguments, *more, "--delta", str(question.delta), "--json"]
    return _answer(json.loads(run(*line)))


def endpoint(question: Question, folder: Path) -> Said:
    """The JSON behind the page."""
    asked = {"mechanism": question.mechanism, "n": question.n, "delta": question.delta}
    asked |= {} if not question.corrupted else {"corrupted": question.corrupted}
    asked |= {} if question.view == "multiset" else {"view": question.view}
    asked |= {} if question.times == 1 else {"rounds": question.times}
    name = "epsilon" if question.times == 1 else "rounds"
    (command,) = [one for one in served(main.commands) if one.name == name]
    line = command.arguments((key, str(value)) for key, value in asked.items())
    return _answer(json.loads(ask(line).text))


def _answer(fields: Mapping[str, Any]) -> Said:
    rounds = fields.get("rounds")
    level = rounds[0]["ldp_level"] if rounds else fields["ldp_level"]
    relation, assumed = fields["relation"], tuple(fields["assumptions"])
    return Said(fields["guarantee"]["upper"], relation["text"], assumed, level, fields)


def document(question: Question, folder: Path) -> Said | None:
    """The document for the review board."""
    page = page_of(question)
    found = re.search(
        r"\((\S+), \S+\)-differentially private for neighbouring datasets that (.*?)\. ", page
    )
    facts = re.findall(r"<li>(.*?)</li>", page, flags=re.DOTALL)
    level = re.search(r"<b>ε0 = (\S+)</b>", page)
    return Said(found.group(1), _once(found.group(2)), tuple(facts), level and level.group(1))


@cache
def page_of(question: Question) -> str:
    """The document as text, every white space one."""
    line = ["report", *question.arguments, *_times(question), "--delta", str(question.delta)]
    return html.unescape(re.sub(r"\s+", " ", run(*line)))


def certificate(question: Question, folder: Path) -> Said | None:
    """A certificate."""
    one = question.accountant
    asked = one if question.times == 1 else one.rounds(question.times)
    try:
        proved = certify(asked, target_delta=question.delta)
    except (NoAnswerError, ValueError):
        return None
    claim, fields = proved.guarantee, json.loads(proved.to_json())
    relation = one.relation.in_rounds if question.times > 1 else proved.relation
    assert claim.statement.endswith(f"for neighbouring datasets that {relation}")
    return Said(float(claim.epsilon), proved.relation, proved.assumptions, fields=fields)


def ledger(question: Question, folder: Path) -> Said | None:
    """What a ledger says after the rounds."""
    path = folder / "spent.jsonl"
    Ledger.create(path, epsilon=100, delta=question.delta)
    run("ledger", "add", str(path), *question.arguments, *_times(question))
    fields = json.loads(run("ledger", "show", str(path), "--json"))
    (entry,) = fields["rounds"]
    assert entry["relation"] == fields["relation"]
    text = " ".join(run("ledger", "show", str(path)).split())
    assert "-differentially private for neighbouring datasets that " in text
    relation, assumed = fields["relation"]["text"], tuple(fields["assumptions"])
    return Said(fields["spent"]["epsilon"], relation, assumed, fields=fields)


def sidecar(question: Question, folder: Path) -> Said | None:
    """What is written beside reports, or beside their sum."""
    if question.corrupted or question.times > 1:
        return None
    columns = _columns(question.mechanism)
    rows = "\n".join([",".join(columns), *[",".join("0" for _ in columns)] * question.n])
    (folder / "people.csv").write_text(rows + "\n")
    out = folder / ("sum.json" if question.view == "sum" else "reports.csv")
    names = [option for name in columns for option in ("--column", name)]
    line = ["randomize", str(folder / "people.csv"), *names, "--mechanism", question.mechanism]
    line += ["--delta", str(question.delta), "--view", question.view, "--out", str(out), "--force"]
    text = " ".join(run(*line).split())
    fields = json.loads(Path(f"{out}.json").read_text())
    relation, assumed = fields["relation"]["text"], tuple(fields["assumptions"])
    assert f"-differentially private for neighbouring datasets that {relation}" in text
    flag = "--from-counts" if question.view == "sum" else None
    estimate = run("estimate", *([flag] if flag else []), str(out), "--json")
    assert json.loads(estimate)["relation"] == fields["relation"]
    return Said(fields["guarantee"]["epsilon"], relation, assumed, fields=fields)


def distribution(question: Question, folder: Path) -> Said | None:
    """The export to dp_accounting, which refuses what it cannot say."""
    rounds, width = question.accountant.rounds(question.times), 1e-2
    if not question.accountant.relation.replaces_input:
        with pytest.raises(ValueError, match=r"NeighboringRelation\.REPLACE_ONE") as refused:
            to_pld(rounds, value_discretization_interval=width)
        assert str(question.accountant.relation) in str(refused.value)
        return None
    law = to_pld(rounds, value_discretization_interval=width)
    return Said(law.get_epsilon_for_delta(question.delta), "replace the input of one user")


def comparison(question: Question, folder: Path) -> Said | None:
    """Our row of a comparison."""
    line = [
        "compare",
        *question.arguments,
        *_times(question),
        "--delta",
        str(question.delta),
        "--json",
    ]
    fields = json.loads(run(*line))
    ours = next(row for row in fields["bounds"] if row["bound"] == "guarantee")
    assert ours["relation"] == fields["relation"]
    return _said(ours["epsilon"], fields)


def curve(question: Question, folder: Path) -> Said | None:
    """A curve of one point: what ``shuffledp curve --json`` prints."""
    found = shuffledp.curve(
        question.mechanism,
        x=[question.n],
        target_delta=question.delta,
        view=question.view,
        corrupted=question.corrupted,
        rounds=question.times,
        bounds="guarantee",
    )
    fields = found.to_dict()
    (first,) = fields["curves"]
    more = {"relation": first["relation"], "ldp_level": None, "assumptions": found.assumptions}
    return _said(first["y"][0], {**fields, **more})


def audit(question: Question, folder: Path) -> Said | None:
    """What an audit compares its runs with."""
    if question.corrupted or question.times > 1 or question.view != "multiset":
        return None
    line = ["audit", *question.arguments, "--delta", str(question.delta), "--trials", "20"]
    fields = json.loads(run(*line, "--seed", "1", "--json"))
    return _said(fields["guarantee"]["upper"], {**fields, "ldp_level": None})


def tiers(question: Question, folder: Path) -> Said | None:
    """Tiers of which there is one."""
    if question.times > 1 or question.view != "multiset":
        return None
    crowd = ["--corrupted", str(question.corrupted)] if question.corrupted else []
    group = f"{question.mechanism}={question.n}"
    line = ["tiers", "--group", group, *crowd, "--delta", str(question.delta), "--json"]
    fields = json.loads(run(*line))
    (tier,) = fields["tiers"]
    mixed = MixedAccountant([Group(question.mechanism, question.n)], corrupted=question.corrupted)
    assert str(mixed.epsilon_tiers(question.delta)[0].relation) == tier["relation"]["text"]
    found = {**fields, "relation": tier["relation"], "ldp_level": tier["ldp_level"]}
    return _said(tier["guarantee"]["upper"], found)


def _said(epsilon: float, fields: Mapping[str, Any]) -> Said:
    relation, assumed = fields["relation"]["text"], tuple(fields["assumptions"])
    return Said(epsilon, relation, assumed, fields["ldp_level"], fields)


#: Doors whose numbers are those of the report in Python, exactly or as they are rounded.
EXACT: dict[str, Door] = {
    "text": words,
    "JSON": printed,
    "page": endpoint,
    "document": document,
    "sidecar": sidecar,
    "comparison": comparison,
    "audit": audit,
}

#: Doors whose numbers are certified as well, but computed another way.
CLOSE: dict[str, Door] = {
    "certificate": certificate,
    "ledger": ledger,
    "distribution": distribution,
    "curve": curve,
    "tiers": tiers,
}

DOORS: dict[str, Door] = {"Python": python, **EXACT, **CLOSE}


@cache
def said(door: str, question: Question) -> Said | None:
    """What a door says about a question, asked once."""
    with TemporaryDirectory() as folder:
        return DOORS[door](question, Path(folder))


def shown(epsilon: float) -> str:
    """A guarantee as people read it."""
    return round_up(epsilon)


def _times(question: Question) -> list[str]:
    return ["--times", str(question.times)]


def _once(words: str) -> str:
    """What relations in rounds say of one round."""
    return words.replace("the inputs of one user in all rounds", "the input of one user").replace(
        ", any in each round", ""
    )


def _columns(mechanism: str) -> list[str]:
    """Names for the columns that a mechanism reads."""
    return [f"a{i}" for i in range(_leaves(parse(mechanism).input_domain))]


def _leaves(domain: Domain) -> int:
    return sum(map(_leaves, domain.entries)) if isinstance(domain, Tuples) else 1
