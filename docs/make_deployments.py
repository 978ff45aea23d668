"""Write the table of deployments.md, between its markers, from deployments.toml.

Run from anywhere: ``python docs/make_deployments.py``; with ``--check`` nothing is written, and the
exit code is 1 if the page is out of date.
"""

from __future__ import annotations

import math
import sys
import tomllib
from pathlib import Path
from typing import Any

from shuffledp import NoisyCounts, ShuffleAccountant, parse
from shuffledp.accounting.messages import least_fabricated, least_noise
from shuffledp.basics.rounding import plain, round_up

DATA = Path(__file__).with_name("deployments.toml")
PAGE = Path(__file__).with_name("deployments.md")
BEGIN, END = "<!-- begin table: deployments -->", "<!-- end table: deployments -->"


def deployments() -> list[dict[str, Any]]:
    """Return what is known about each of them."""
    found: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["deployment"]
    return found


def local(row: dict[str, Any]) -> str:
    """Return the level of a user's own report."""
    if "mechanism" in row:
        level = parse(row["mechanism"]).epsilon0
        return "infinite" if level == math.inf else round_up(level)
    return "infinite" if {"reports", "noise", "kind"} & set(row) else "?"


def accounted(row: dict[str, Any]) -> str:
    """Return what is guaranteed to those who see all messages, or their sum, and nothing else."""
    if "mechanism" in row:
        view = row.get("view", "multiset")
        asked = ShuffleAccountant(row["mechanism"], row["n"], view=view)
        epsilon = round_up(asked.get_epsilon(row["delta"]))
        return f"epsilon = {epsilon} at delta = {plain(row['delta'])}, n = {row['n']:,}"
    if "noise" in row:
        epsilon = round_up(NoisyCounts(row["noise"]).get_epsilon(row["delta"]))
        return f"epsilon = {epsilon} at delta = {plain(row['delta'])}"
    if "kind" not in row:
        return "not accounted"
    targets = {"target_epsilon": row["epsilon"], "target_delta": row["delta"]}
    goal = f"for ({plain(row['epsilon'])}, {plain(row['delta'])})"
    if "reports" in row:
        messages = least_fabricated(row["reports"], row["n"], row["kind"], **targets)
        return f"poisson_mean = {plain(messages.fabricated.amount)} {goal}, n = {row['n']:,}"
    counts = least_noise(row["kind"], **targets)
    return f"{counts.noise} {goal}"


def rows() -> list[str]:
    """Return the lines of the table."""
    lines = ["| Deployment | Published | Publisher claims | Local epsilon | Accounted here |"]
    lines.append("|---|---|---|---|---|")
    for number, row in enumerate(deployments(), 1):
        mark = "" if row["sure"] else " (uncertain)"
        said = f"{row['published']} | {row['claims']}"
        lines.append(
            f"| {number}. {row['name']}{mark} | {said} | {local(row)} | {accounted(row)} |"
        )
    lines.append("")
    for number, row in enumerate(deployments(), 1):
        lines.append(f"{number}. {row['note']} Source: {row['source']}")
    return lines


def page() -> str:
    """Return the page with its table computed again."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}", "", *rows(), "", f"{END}{after}"])


def main() -> int:
    """Write the page, or check it."""
    computed = page()
    if "--check" in sys.argv:
        return int(computed != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(computed, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
