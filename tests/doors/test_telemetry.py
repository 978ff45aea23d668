"""From the question to document, proof and ledger, with one file: all say the same numbers."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from doors import run

from shuffledp import Setting

DELTA = ("--delta", "1e-4")


@pytest.mark.heavy
def test_one_file_at_every_door(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = ("--setting", "telemetry.toml")
    found = json.loads(
        run(
            *("calibrate", "krr(k=4)", "-n", "300", "--corrupted", "2%", "--rounds", "3"),
            *("--epsilon", "2", *DELTA, "--save-setting", "telemetry.toml", "--json"),
        )
    )
    setting = Setting.load("telemetry.toml")
    assert (setting.n, setting.rounds, setting.crowd.corrupted) == (300, 3, 6)
    assert setting.randomizer.epsilon0 == found["epsilon0"]

    answer = json.loads(run("epsilon", *kept, *DELTA, "--json"))
    epsilon = answer["guarantee"]["upper"]
    assert epsilon == found["guarantee"]["upper"] <= 2

    run("report", *kept, *DELTA, "--certify", "--out", "telemetry.html")
    page = html.unescape(re.sub(r"\s+", " ", Path("telemetry.html").read_text()))
    shown = re.search(r"guarantee +epsilon = (\S+)", run("epsilon", *kept, *DELTA)).group(1)
    assert f"({shown}, 1e-4)-differentially private" in page
    assert "all rounds" in page

    proved = json.loads(run("certify", *kept, *DELTA))
    certified = float(proved["guarantee"]["epsilon"])
    assert epsilon * 0.995 <= certified <= epsilon * 1.02
    assert (proved["n"], proved["corrupted"], proved["rounds"]) == (300, 6, 3)
    checked = json.loads(run("verify", "telemetry.html", "--json"))
    assert checked["guarantee"]["epsilon"] == proved["guarantee"]["epsilon"]

    run("ledger", "new", "spent.jsonl", "--epsilon", "2.1", *DELTA)
    run("ledger", "add", "spent.jsonl", *kept)
    spent = json.loads(run("ledger", "show", "spent.jsonl", "--json"))
    assert spent["spent"]["epsilon"] == pytest.approx(epsilon, rel=1e-3)
    assert spent["rounds"][0]["corrupted"] == 6
