"""Command lines for any command, right and wrong, drawn from what the command says it takes.

Commands are asked for their parameters, so that a new one is included without a change here. What
decides how long a command runs is always given, and small.
"""

from __future__ import annotations

import click
from hypothesis import strategies as st
from mechanism_texts import FAMILIES, VALID, texts

from shuffledp.cli import main

#: Quick answers only: the bounds of Laplace noise take longest.
QUICK = [text for text in VALID if not text.startswith("laplace")]

#: Good values of parameters, by name.
GOOD = {
    "mechanism": QUICK,
    "mechanisms": QUICK,
    "family": FAMILIES,
    "n": ["1", "2", "7", "1e3", "10_000", "1e9"],
    "delta": ["1e-6", "0.1", "1e-300", "0", "1"],
    "epsilon": ["0.1", "1"],
    "rtol": ["1e-3", "0.5"],
    "confidence": ["0.9", "0.5"],
    "error": ["0.1", "1"],
    "domain": ["2", "4", "1e3"],
    "distribution": ["0.5,0.5", "0.25,0.25,0.25,0.25"],
    "low": ["10", "1e3", "0.5"],
    "high": ["1e3", "1e4", "1"],
    "bounds": ["guarantee", "lower_bound", "erlingsson"],
    "outputs": ["out.csv", "out.json"],
    "out": ["out.csv"],
    "names": ["age", "colour"],
    "values": ["", "red,green,blue", "a,b"],
    "input": ["people.csv"],
    "reports": ["reports.csv"],
    "file": ["certificate.json"],
    "seed": ["0", "7"],
    "rounds": ["1", "2"],
    "at_most": ["1", "2"],
    "ledger": ["spent.jsonl", "new.jsonl"],
    "study_file": ["study.toml"],
    "plan_file": ["plan.json"],
    "kinds": ["2", "krr(k=3, epsilon0=1)", "10"],
}

#: Parameters that decide how long a command runs: always given, with one of these values, or
#: with one that is refused.
SMALL = {
    "count": ["1", "2"],
    "points": ["2", "3"],
    "trials": ["2", "20"],
    "charts": [],
    "certified": [],
    "cluster": [],
}

#: Of these one is asked for where they are optional, and the others are given.
TARGETS = ("epsilon", "delta", "error")

#: Needed unless a file says them.
USUAL = {
    **dict.fromkeys(
        ("epsilon", "delta", "rounds", "compare", "certify", "audit", "report"), ("mechanism", "n")
    ),
    "users": ("mechanism",),
    "calibrate": ("n",),
    "curve": ("mechanisms",),
    "plan": ("n", "delta"),
    "randomize": ("names", "mechanism", "delta"),
}

#: Optional in general, but needed by default settings; and what only fits special settings.
NEEDED = ("domain",)
APART = (
    "n",
    "distribution",
    "values",
    "as_csv",
    "project",
    "against",
    "low",
    "high",
    "kinds",
    "ledger",
    "study_file",
    "plan_file",
    "out",
)

REFUSED = ["", "x", "-1", "0.5", "nan", "1e400", "nosuch"]

#: Values that hardly any parameter takes.
ODD = [
    *("", " ", "x", "-", "--", "-1", "0", "0.5", "2", "nan", "inf", "-inf", "NaN", "1e400"),
    *("1e-400", "-0", "1e308", "5e-324", "9" * 400, "9" * 5000, "0x10", "1,5", "1_0", "٣", "１"),
    *("None", "True", "[]", "{}", "ε", "\udc80", "\U0001f600", "\u202e", "a\nb", "a\tb", "\0"),
    *(".", "/dev/null", "no/such/file.csv", "people.csv", "folder", "folder.csv"),
    *("empty.csv", "binary.csv", "out.exe", "out.csv/", "%s%n", "{0.__class__}", "$HOME", "`ls`"),
    *("__import__('os')", "all,", "a" * 300, "a" * 300 + ".csv"),
]

#: Paths in it stay in the folder.
any_text = st.text(st.characters(codec="utf-8", exclude_characters="./~"), max_size=5)

#: Words that belong to no parameter and take no other word with them.
SURPLUS = ["surplus", "--nosuch", "-x", "", "--", "--help", "--json=1", "---", "-\udc80"]


def good_values(parameter: click.Parameter) -> list[str]:
    """Values the parameter may take, and that keep its command quick."""
    name, kind = parameter.name or "", parameter.type
    if name in SMALL:
        return SMALL[name]
    if isinstance(kind, click.Choice):
        return [str(choice) for choice in kind.choices if choice != "all"]
    if name in GOOD:
        return GOOD[name]
    if isinstance(kind, click.IntRange) or parameter.metavar == "INTEGER":
        least = getattr(kind, "min", None) or 1
        return [str(least), str(least + 1)]
    return ["0.5", "1", "x"]


@st.composite
def values(draw: st.DrawFn, parameter: click.Parameter, sober: bool) -> str:
    """A good value, or now and then an odd one."""
    good = good_values(parameter)
    if good and (sober or draw(st.integers(0, 7))):
        return draw(st.sampled_from(good))
    if parameter.name in SMALL:
        return draw(st.sampled_from(REFUSED))
    if parameter.name in ("mechanism", "family"):
        return draw(texts)
    return draw(st.sampled_from(ODD) | any_text)


@st.composite
def unit(draw: st.DrawFn, parameter: click.Parameter, sober: bool) -> list[str]:
    """The words that set a parameter."""
    if isinstance(parameter, click.Argument):
        return [draw(values(parameter, sober))]
    option = draw(st.sampled_from(parameter.opts))
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [option]
    if parameter.nargs > 1:
        return [option, *(draw(values(parameter, sober)) for _ in range(parameter.nargs))]
    if option.startswith("--") and draw(st.booleans()):
        return [f"{option}={draw(values(parameter, sober))}"]
    return [option, draw(values(parameter, sober))]


@st.composite
def wild(draw: st.DrawFn, command: click.Command) -> list[list[str]]:
    """Parameters left out, given twice, or with odd values, and words that belong to none."""
    parts = []
    for parameter in command.params:
        if parameter.name in SMALL:
            chance = 1.0 if SMALL[parameter.name] else 0.1
        else:
            chance = 0.97 if parameter.required else 0.5
        if draw(st.floats(0, 1)) <= chance:
            count = 1 if draw(st.integers(0, 9)) else 2
            parts += [draw(unit(parameter, sober=False)) for _ in range(count)]
    if not draw(st.integers(0, 9)):
        parts.append([draw(st.sampled_from(SURPLUS))])
    return parts


@st.composite
def sober(draw: st.DrawFn, command: click.Command) -> list[list[str]]:
    """Good values of all parameters that are needed and of some others; mostly an answer."""
    usual = USUAL.get(command.name or "", ())
    alternatives = [
        p for p in command.params if p.name in TARGETS and not p.required and p.name not in usual
    ]
    target = draw(st.sampled_from(alternatives)) if alternatives else None
    parts = []
    for parameter in command.params:
        if parameter in alternatives:
            wanted = parameter is target
        elif parameter.name in SMALL or parameter.name in NEEDED:
            wanted = bool(good_values(parameter))
        else:
            wanted = (
                parameter.required
                or parameter.name in usual
                or (parameter.name not in APART and bool(draw(st.integers(0, 1))))
            )
        if wanted:
            parts.append(draw(unit(parameter, sober=True)))
    return parts


@st.composite
def lines(draw: st.DrawFn, command: str) -> list[str]:
    """A line for a command, its parameters in any order."""
    parts = draw(st.one_of(kind(main.commands[command]) for kind in (sober, wild)))
    return [command, *(word for part in draw(st.permutations(parts)) for word in part)]
