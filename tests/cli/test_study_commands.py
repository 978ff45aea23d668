"""Studies on the command line: plan, randomize, estimate."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import run

from shuffledp.cli import main
from shuffledp.deployment.files import Guarantee, Ledger

sys.path.append(str(Path(__file__).parent.parent / "study"))
from designs import PARTS, design, rows

ONE = """
n = 500
epsilon = 1
delta = 1e-6

[[attributes]]
name = "member"
kind = "yes/no"
missing = "leave out"
"""

STUDY = {
    "n": 500,
    "epsilon": 1.0,
    "delta": 1e-6,
    "attributes": [{"name": "member", "kind": "yes/no"}],
}

CERTIFIED = Guarantee(epsilon=2.0, delta=1e-6, lower_bound=1.9)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Take a number for certified: what is tested is something else."""
    monkeypatch.setattr(
        "shuffledp.deployment.study.study_randomization._certify",
        lambda design, n: (CERTIFIED, (CERTIFIED,) * len(design.shuffles)),
    )


def ask(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code != 0
    return " ".join(result.stderr.split())


def test_the_whole_way(folder):
    Path("study.toml").write_text(ONE)
    cells = ["yes", "no", "", "yes"] * 125
    Path("people.csv").write_text("member\n" + "\n".join(f'"{cell}"' for cell in cells) + "\n")
    text = ask("plan", "--study", "study.toml", "--out", "plan.json")
    assert "Best: separate shuffles\nmember: krr(k=3, epsilon0=" in text
    assert "in inverse proportion" in text
    assert "expected  all values alike: the study expects nothing else\n" in text
    rows = [line.split() for line in text.splitlines()]
    assert rows[rows.index(["separate", "shuffles"]) + 1] == ["expected", "worst"]
    assert "Standard error at worst, of one value for any data: member 0.0" in " ".join(
        text.split()
    )
    assert text.endswith("Written: plan.json\n")
    text = ask("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    assert "strategy   separate shuffles\nusers      500\n" in text
    assert "one user, if every row is another user" in " ".join(text.split())
    text = ask("estimate", "reports.csv")
    assert text.startswith("strategy   separate shuffles\nusers      500\nguarantee  epsilon = ")
    assert "member: missing answers" in text
    assert "Shares and means of member are those among people who answered." in text
    document = json.loads(ask("estimate", "reports.csv", "--json", "--simultaneous"))
    assert document["simultaneous"] is True
    plan = json.loads(Path("plan.json").read_text())
    assert document["guarantee"] == {"epsilon": plan["guarantee"]["epsilon"], "delta": 1e-6}
    assert document["estimates"][0]["values"] == ["no", "yes"]
    fields = json.loads(ask("plan", "--study", "study.toml", "--json"))
    assert fields["options"][0]["shuffles"] == plan["shuffles"]
    assert fields["files"] == []
    known = plan["predicted_errors"]["member"]
    assert 0 < known["expected_rms_error"] <= known["rms_error"] == fields["options"][0]["score"]


@pytest.mark.usefixtures("quick")
def test_separate_files():
    rows(300).to_csv("people.csv", index=False)
    design("separate shuffles").save("plan.json")
    line = ("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    result = CliRunner().invoke(main, [*line, "--seed", "3", "--json"])
    assert result.exit_code == 0
    assert "from a seed" in " ".join(result.stderr.split())
    names = [f"reports-{name}.csv" for name in PARTS]
    assert list(json.loads(result.stdout)) == names
    text = ask("estimate", *names)
    assert "age: mean " in text
    assert "Median of score: 3, 95% interval " in text
    assert "No reports were given" not in text
    assert "No reports were given about region, member, age." in ask("estimate", names[2])
    assert "not known for the reports of a plan" in refused("estimate", *names, "--corrupted", "5")
    csv = ask("estimate", names[0], "--csv", "--simultaneous", "--project")
    assert csv.splitlines()[1].startswith("region,,north,")
    assert "exists already" in refused(*line)
    ask(*line, "--force")


@pytest.mark.usefixtures("quick")
def test_cross_tables():
    rows(300).to_csv("people.csv", index=False)
    design("joint report").save("plan.json")
    ask("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    text = ask("estimate", "reports.csv")
    assert "region x member" in text
    assert "(missing), yes" in text
    assert json.loads(ask("estimate", "reports.csv", "--json"))["top"] == {}


@pytest.mark.usefixtures("quick")
def test_subgroups_and_largest_shares(folder):
    rows(2000).to_csv("people.csv", index=False)
    design("joint report").save("plan.json")
    ask("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    line = ("estimate", "reports.csv", "--given", "region=north", "--top", "2")
    text = " ".join(ask(*line).split())
    assert "member among region = north frequency" in text
    assert "score among region = north frequency" in text
    assert re.search(r"Largest shares of region: north 0\.\d+ \(p = \S+\), south", text)
    assert "how probably two values of equal shares would seem at least as far apart" in text
    document = json.loads(ask(*line, "--json"))
    assert [place["label"] for place in document["top"]["region"]] == ["north", "south"]
    assert set(document["top"]["member"][0]) == {"label", "share", "p_value"}
    assert "age" not in document["top"]
    last = document["estimates"][-2]
    assert (last["column"], last["values"]) == ("member among region = north", ["no", "yes"])
    assert abs(sum(last["estimates"]) - 1) < 1e-9
    for given, message in (
        ("region", "must be NAME=VALUE, each name once, got 'region'"),
        ("region=east", "attribute 'region' has no value 'east'"),
        ("age=3", "there is no cross table of age and one more attribute"),
        ("rgion=north", "there is no cross table of rgion and one more attribute"),
    ):
        assert message in refused("estimate", "reports.csv", "--given", given)
    twice = ("--given", "region=north", "--given", "region=south")
    assert "each name once" in refused("estimate", "reports.csv", *twice)
    ask("randomize", "people.csv", "--column", "score", "--mechanism", "krr(k=6, epsilon0=3)",
        "--delta", "1e-3", "--out", "one.csv")  # fmt: skip
    for option in (("--given", "region=north"), ("--top", "1")):
        assert f"{option[0]} is for the reports of a plan" in refused(
            "estimate", "one.csv", *option
        )


@pytest.mark.usefixtures("quick")
def test_every_user_in_one_shuffle():
    rows(300).to_csv("people.csv", index=False)
    design("one public attribute per user").save("plan.json")
    text = ask("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    assert "users      300\n" in text
    assert "region of 120 users: krr(k=4, epsilon0=4.5)" in text
    text = ask("estimate", *(f"reports-{name}.csv" for name in PARTS))
    assert "users      300\n" in text
    assert "It holds if no user is in two files." in " ".join(text.split())


@pytest.mark.heavy
@pytest.mark.usefixtures("quick")
def test_charts_of_estimates(folder):
    pytest.importorskip("matplotlib")
    rows(300).to_csv("people.csv", index=False)
    design("joint report").save("plan.json")
    ask("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    text = ask("estimate", "reports.csv", "--chart", "a.png")
    assert text.endswith("Written: a.csv\nWritten: a.json\nWritten: a.png\n")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads(ask("estimate", "reports.csv", "--chart", "b.csv", "--json"))
    assert document["charts"] == ["b.csv"]
    table = Path("b.csv").read_text().splitlines()
    assert table[0] == "panel,row,group,value,lower,upper"
    first = document["estimates"][0]
    numbers = [first[name][0] for name in ("estimates", "lower", "upper")]
    assert table[1] == ",".join(["region", "north", "", *map(repr, numbers)])
    mean = next(line for line in table if line.startswith("mean of age,mean,"))
    assert len(mean.split(",")) == 6


def test_charts_of_plans(folder, monkeypatch):
    Path("study.toml").write_text(ONE)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = ["plan", "--study", "study.toml", "--chart", "errors.png"]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 1
    assert result.stderr.startswith("Warning: pictures need matplotlib")
    assert "written without: errors.csv, errors.json" in result.stderr
    assert "Best: separate shuffles" in result.stdout
    assert (
        Path("errors.csv")
        .read_text()
        .splitlines()[1]
        .startswith('"500 users, epsilon = 1, delta = 1e-6",member,separate shuffles,0.0')
    )


@pytest.mark.parametrize(
    ("options", "replaced"),
    [
        (("--out", "plan.json", "--chart", "plan.png"), "plan.json"),
        (("--out", "plan.json", "--chart", "./plan.json"), "plan.json"),
        (("--chart", "study.svg"), "study.json"),
    ],
)
def test_charts_replace_neither_plan_nor_study(folder, options, replaced):
    line = ("plan", "--study", "study.json", *options)
    Path("study.json").write_text(json.dumps(STUDY))
    assert f"would replace '{replaced}': choose another name" in refused(*line)
    assert [path.name for path in folder.iterdir()] == ["study.json"]
    said = refused("plan", "--study", "study.json", "--out", "./study.json")
    assert "it is the study that is read" in said


@pytest.mark.parametrize("chart", ["reports.png", "reports.csv", "reports.csv.json"])
def test_charts_replace_no_reports(folder, chart):
    Path("people.csv").write_text("x\n" + "0\n1\n" * 5)
    line = ("randomize", "people.csv", "--column", "x", "--mechanism", "krr(k=2, epsilon0=3)")
    ask(*line, "--delta", "0.01", "--out", "reports.csv")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "would replace 'reports.csv" in refused("estimate", "reports.csv", "--chart", chart)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_chart_of_one_mechanism(folder):
    pytest.importorskip("matplotlib")
    Path("people.csv").write_text("x\n" + "0\n1\n" * 50)
    line = ("randomize", "people.csv", "--column", "x", "--mechanism", "krr(k=2, epsilon0=3)")
    ask(*line, "--delta", "1e-3", "--out", "reports.csv")
    assert "Written: a.svg" in ask("estimate", "reports.csv", "--chart", "a.svg")
    assert "must end in one of" in refused("estimate", "reports.csv", "--chart", "a.gif")


@pytest.mark.heavy
@pytest.mark.usefixtures("quick")
def test_ledgers_record_every_shuffle(folder):
    rows(300).to_csv("people.csv", index=False)
    design("joint and separate shuffles").save("plan.json")
    Ledger.create("spent.jsonl", epsilon=30.0, delta=1e-6)
    line = ("randomize", "people.csv", "--plan", "plan.json", "--ledger", "spent.jsonl")
    ask(*line, "--out", "reports.csv")
    recorded = Ledger("spent.jsonl").recorded
    shuffles = design("joint and separate shuffles").shuffles
    assert [(one.mechanism, one.n) for one in recorded] == [
        (str(shuffle.mechanism), 300) for shuffle in shuffles
    ]
    for one, name in zip(recorded, ("region_member_score", "age"), strict=True):
        sidecar = json.loads(Path(f"reports-{name}.csv.json").read_text())
        assert one.reports == sidecar["sha256"]
    Ledger.create("small.jsonl", epsilon=1.0, delta=1e-6)
    line = (*line[:-1], "small.jsonl", "--out", "more.csv")
    said = refused(*line)
    assert "does not allow 2 more rounds of joint(" in said
    assert "with n = 300, krr(k=6, epsilon0=4.5) with n = 300: all together would have" in said
    assert Ledger("small.jsonl").recorded == ()
    assert not list(folder.glob("more*"))
    Ledger.create("own.csv", epsilon=1.0, delta=1e-6)
    line = ("randomize", "people.csv", "--plan", "plan.json", "--ledger", "own.csv")
    Path("reports-age.csv").unlink()
    Path("reports-age.csv").hardlink_to("own.csv")
    assert "it is the ledger" in refused(*line, "--out", "reports.csv", "--force")


def test_several_domains_are_refused():
    line = ("plan", "-n", "100", "--epsilon", "1", "--delta", "1e-3", "--domain", "3")
    assert "is for one attribute, got 2 of them" in refused(*line, "--domain", "4")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--domain", "3"), "--domain is for one attribute: a --study says it itself"),
        (("-n", "3"), "leave out n=3"),
        (("--epsilon", "3"), "--epsilon is for one attribute"),
        (("--view", "sum"), "leave out view=sum"),
        (("--out", "no/such/plan.json"), "cannot write 'no/such/plan.json'"),
    ],
)
def test_what_does_not_go_with_a_study(options, message):
    Path("study.toml").write_text(ONE)
    assert message in refused("plan", "--study", "study.toml", *options)


def test_bad_studies_leave_no_file(folder):
    assert "cannot read 'study.toml'" in refused("plan", "--study", "study.toml")
    Path("study.toml").write_text(ONE.replace("1e-6", "1"))
    said = refused("plan", "--study", "study.toml", "--out", "plan.json")
    assert "'study.toml' is not a study: delta must be strictly between 0 and 1" in said
    Path("study.toml").write_text(ONE.replace("= 1\n", "= 1e-12\n").replace("1e-6", "1e-300"))
    said = refused("plan", "--study", "study.toml", "--out", "plan.json")
    assert "no mechanism meets epsilon = 1e-12 for shares of 3 values" in said
    assert "--out writes the plan of a study" in refused("plan", "--out", "plan.json")
    assert sorted(path.name for path in folder.iterdir()) == ["study.toml"]


def test_bad_runs_leave_no_file(folder):
    line = ("randomize", "people.csv", "--plan", "plan.json", "--out", "reports.csv")
    rows(50).assign(score=6).to_csv("people.csv", index=False)
    assert "cannot read 'plan.json'" in refused(*line)
    Path("plan.json").write_text("{}")
    assert "'plan.json' is not a plan" in refused(*line)
    design("separate shuffles").save("plan.json")
    assert "row 1, column 'score': 6 is not one of" in refused(*line).replace("'6'", "6")
    assert "--delta does not go with --plan" in refused(*line, "--delta", "0.1")
    assert "--seed voids the guarantee" in refused(*line, "--ledger", "x", "--seed", "1")
    assert "sees more than their sum" in refused(*line, "--view", "sum")
    assert "states what honest users reveal" in refused(*line, "--corrupted", "5")
    assert "x.jsonl': No such file" in refused(*line, "--ledger", "x.jsonl")
    assert "--column does not go with --plan" in refused(*line, "--column", "score")
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv", "plan.json"]


def test_what_a_plan_would_say_is_needed():
    line = ("randomize", "people.csv", "--out", "reports.csv")
    assert "Missing option '--column', or a --plan" in refused(*line)
    assert "Missing option '--mechanism', or a --plan" in refused(*line, "--column", "x")
    more = ("--column", "x", "--mechanism", "krr(2, 1)")
    assert "Missing option '--delta', or a --plan" in refused(*line, *more)
