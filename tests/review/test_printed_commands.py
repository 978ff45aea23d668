"""Every command that a document prints gives the numbers of the document."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner

from shuffledp import Setting
from shuffledp.cli import main
from shuffledp.outputs.review.commands import commands, proof_command
from shuffledp.outputs.review.findings import Findings

JOINT = "joint(krr(k=3, epsilon0=1), krr(k=2, epsilon0=1), at_most=1)"
KRR = "krr(k=4, epsilon0=2.6)"
BITS = "rappor(epsilon0=2)"

BIT = "krr(k=2, epsilon0=1)"

#: What every run of the tests asks.
QUICK = [
    (BIT, 20, {"corrupted": 3, "rounds": 4, "at_most": 2}, 0.03),
    ("gaussian(sigma=2)", 20, {"view": "sum", "rounds": 3}, 0.03),
    ("gaussian(sigma=2)", 20, {"view": "sum", "corrupted": 0.2}, None),
    (JOINT, 100, {}, None),
]

REST = [
    ("oue(epsilon0=1)", 20, {"view": "sum", "corrupted": 0.2, "rounds": 2}, 0.03),
    (JOINT, 20, {"rounds": 2, "bound": "blanket"}, 0.03),
    (KRR, 300, {"corrupted": 3, "corrupted_adaptively": 5}, None),
    (BIT, 20, {"corrupted": 3, "corrupted_adaptively": 5, "rounds": 2}, 0.03),
    (BIT, 20, {"rounds": 3, "at_most": 1, "bound": "blanket"}, None),
    (KRR, 300, {"bound": "blanket"}, 1e-6),
    (KRR, 300, {}, 0.03),
    ("laplace(epsilon0=1)", 60, {"bound": "blanket"}, None),
    (BITS, 50, {"view": "sum"}, None),
]


@pytest.mark.parametrize("quantity", ["epsilon", pytest.param("delta", marks=pytest.mark.heavy)])
@pytest.mark.parametrize(
    ("mechanism", "n", "conditions", "rtol"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.heavy) for case in REST)],
)
def test_printed_commands_give_the_numbers(mechanism, n, conditions, rtol, quantity):
    accountant = Setting(mechanism=mechanism, n=n, **conditions).accountant(rtol)
    asked = accountant.epsilon_report if quantity == "epsilon" else accountant.delta_report
    report = asked(0.1)
    found = Findings(report)
    for line in commands(found):
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
        command = line.split()[1]
        if command == "compare":
            answers = [row.cells for row in found.comparison.rows if row.epsilon is not None]
            table = " ".join(result.output.split())
            assert all(" ".join(cells) in table for cells in answers)
            assert "rounds" not in line  # published analyses are about one
        else:
            assert f"guarantee    {quantity} = {report.at_most}" in result.output
            assert f"lower bound  {quantity} = {report.at_least}" in result.output
            assert found.neighbours in " ".join(result.output.split())
    line = proof_command(found)
    if line is None:  # certificates are of honest users in one round, of what is known
        assert rtol or conditions.keys() & {"corrupted", "view", "rounds"}
        return
    result = CliRunner().invoke(main, shlex.split(line)[1:])
    proved = json.loads(result.output)["guarantee"]
    assert float(proved[quantity]) >= float(report.at_most) * (1 - 1e-3)
    assert str(report.relation) in proved["statement"]
