"""Every command that a document prints gives the numbers of the document."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner

from shuffledp import ShuffleAccountant
from shuffledp.cli import main
from shuffledp.outputs.review.findings import Findings
from shuffledp.outputs.review.page import commands, proof_command

JOINT = "joint(krr(k=3, epsilon0=1), krr(k=2, epsilon0=1), at_most=1)"


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
@pytest.mark.parametrize(
    ("mechanism", "n", "settings"),
    [
        ("krr(k=4, epsilon0=2.6)", 300, {"corrupted": 30}),
        ("krr(k=4, epsilon0=2.6)", 300, {"corrupted": 3, "corrupted_adaptively": 5}),
        ("krr(k=4, epsilon0=2.6)", 300, {"rtol": 1e-6}),
        ("krr(k=4, epsilon0=2.6)", 300, {"rtol": 0.03}),
        ("laplace(epsilon0=1)", 60, {"bound": "blanket"}),
        ("rappor(epsilon0=2)", 50, {"view": "sum"}),
        ("rappor(epsilon0=2)", 50, {"view": "sum", "corrupted": 10}),
        (JOINT, 100, {}),
    ],
)
def test_printed_commands_give_the_numbers(mechanism, n, settings, quantity):
    accountant = ShuffleAccountant(mechanism, n, **settings)
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
        else:
            assert f"guarantee    {quantity} = {report.at_most} " in result.output
            assert f"lower bound  {quantity} = {report.at_least} " in result.output
    line = proof_command(found)
    if line is None:  # certificates are of honest users, of what is known, to their own accuracy
        assert settings.keys() & {"corrupted", "rtol", "view"}
        return
    result = CliRunner().invoke(main, shlex.split(line)[1:])
    proved = json.loads(result.output)["guarantee"]
    assert float(proved[quantity]) >= float(report.at_most) * (1 - 1e-3)
    assert str(report.relation) in proved["statement"]
