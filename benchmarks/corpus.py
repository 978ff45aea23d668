"""Answers that were given once, all digits, and how those of the present tree differ.

``python benchmarks/corpus.py`` asks all questions of ``data/answers.json`` again and prints every
answer that

- promises less: a guarantee more than 1e-3 above the one kept, relative to epsilon, or more than
  1e-2 of delta and than delta falls until an epsilon 1e-3 larger; an attack as much weaker; fewer
  rounds, less noise, more users than that explains;
- contradicts: a guarantee below what datasets were known to attain, an attack above what was
  proved, enclosures of one number that do not meet;
- is missing.

Differences in `EXPLAINED` are counted, others make the exit code 1. ``--every 20`` asks one of
twenty, ``--kind rounds`` one kind. ``--write`` asks the questions of ``corpus_questions.py`` and
keeps the answers of the tree that is imported.

Times are those of the processor while a question was answered, in the medians of its kind. Those
kept were measured on another machine: ``--against OTHER/src`` measures this tree and another
checkout here, kind by kind and in turns, and prints the ratios.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner
from corpus_questions import BOTH_WAYS, THEN, questions

import shuffledp
from shuffledp.cli import main as command

KEPT = Path(__file__).parent / "data" / "answers.json"
HERE = Path(__file__).parents[1] / "src"

#: By how much an answer may be worse: relative to epsilon, in the logarithm of delta, and relative
#: to whole numbers and levels, which change about as the square of epsilon does, or less.
OF_EPSILON, OF_LOG_DELTA, OF_OTHERS = 1e-3, 1e-2, 2e-3

_NO_ANSWER, _MISTAKE = 1, 70  # exit codes
_SECONDS = 15  # of the processor, after which a question is left out
_TURNS = 2
_WARM = (  # imports
    'epsilon "krr(k=10, epsilon0=2)" -n 1000 --delta 1e-6',
    'epsilon "gaussian(sigma=1)" -n 1000 --delta 1e-6',
)
_UPPER, _LOWER, _SAME = "at most", "at least", "published"

#: What is known about a number: what datasets attain, and the ends of what is computed. An end is
#: None where it is infinite, or nothing is known.
Facts = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Explained:
    """Why answers to some questions may differ, and in which way."""

    question: str  # a regular expression
    difference: str  # how the difference begins
    reason: str


EXPLAINED = (
    Explained(
        r"parallel\(0\.5\*matrix",
        "guarantee",
        "the kept answer is too small: it misses inputs that combine rows of different parts",
    ),
    Explained(
        r"(?<!discrete_)laplace\(.*--view sum",
        "contradiction: log delta is at least",
        "the kept answer is about ideal noise; noise on a grid reveals more, by about 1e-10",
    ),
    Explained(
        r"^epsilon \"joint\(discrete_laplace\(epsilon0=0\.3898, bound=10\), .*-n 98 ",
        "guarantee: epsilon rises from 17.77",
        "large products of laws are put on a lattice of log ratios, whose last points lie up to a "
        "step beyond the level of the mechanism; that shows where epsilon is nearly the level",
    ),
    Explained(
        r"^epsilon \"subsample\(gaussian\(sigma=0\.7534\), rate=0\.01167\)\" -n 634800 ",
        "attack: epsilon falls from 0.0015018",
        "cells of noise inside compositions are not cut again where it matters: what datasets "
        "attain is enclosed less closely, by 1.4e-3 of epsilon",
    ),
    Explained(
        r"^epsilon \"gaussian\(sigma=0\.7768\)\" -n 29 ",
        "attack: epsilon falls from 6.50496",
        "one rare gain against few others: what is cut off follows an estimate that is far off, so "
        "that what datasets attain is hardly bounded from below",
    ),
)


class FailedError(Exception):
    """A command failed: its exit code and what it wrote."""


class TooSlow(BaseException):  # it passes through commands as Ctrl-C does
    """A question takes too long."""


def command_line(text: str) -> Any:
    """Answer a question in an empty folder: the JSON of its last command, or why there is none."""
    printed = ""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for line in text.split(THEN):
            arguments = shlex.split(line)
            if arguments[0] != "certify":
                arguments.append("--json")
            result = CliRunner().invoke(command, arguments, prog_name="shuffledp")
            if result.exit_code == _NO_ANSWER:
                raise shuffledp.NoAnswerError(result.stderr.strip())
            if result.exit_code:
                raise FailedError(result.exit_code, f"{line}: {result.stderr.strip()}")
            printed = result.stdout
    return json.loads(printed)


def clone(text: str) -> Facts:
    """Answer ``clone KIND MATRIX FIRST SECOND USERS DELTA``."""
    kind, matrix, first, second, n, delta = shlex.split(text)[1:]
    pair = shuffledp.Pair(int(first), int(second))
    made = getattr(shuffledp.GeneralClone, kind)(matrix, pair)
    found = made.epsilon_interval(int(n), float(delta))
    return {"epsilon": (None, found.lower, finite(found.upper))}


def attacker(text: str) -> Facts:
    """Answer ``attacker MECHANISM USERS advantage|tradeoff RATE|renyi ORDER``."""
    mechanism, n, what, *more = shlex.split(text)[1:]
    accountant = shuffledp.ShuffleAccountant(mechanism, int(n))
    if what == "advantage":
        return {_UPPER: [accountant.advantage()]}
    if what == "tradeoff":
        return {_LOWER: [float(accountant.tradeoff(float(more[0])))]}
    from shuffledp.outputs.pld import renyi_divergence

    return {_UPPER: [finite(renyi_divergence(accountant, float(more[0])))]}


PYTHON: dict[str, Callable[[str], Facts]] = {"clone": clone, "attacker": attacker}


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def log(value: float | None) -> float | None:
    return math.log(value) if value else None


def answer(text: str) -> Facts:
    """Return what is known about the answer of a question; nothing if there is none."""
    try:
        name = text.partition(" ")[0]
        return PYTHON[name](text) if name in PYTHON else facts(command_line(text))
    except shuffledp.NoAnswerError:
        return {}


def facts(found: Any) -> Facts:
    """Return the numbers of an answer of the command line that are compared."""
    name = found.get("command", "certify")
    if name in FACTS:
        return FACTS[name](found)
    kept = dict([_guarantee(found)])
    if name == "calibrate":
        return {_LOWER: [found["epsilon0"]]}
    if name == "users":
        return {_UPPER: [found["n"] if "n" in found else found["rounds"][0]["n"]]}
    if name == "rounds" and None not in (found["target_epsilon"], found["target_delta"]):
        return {_LOWER: [found["times"]]}
    return kept


def _guarantee(found: Any, name: str = "") -> tuple[str, list[float | None]]:
    """Return the name of a number, then what datasets attain and both ends of its enclosure."""
    quantity, enclosure, attained = found["quantity"], found["guarantee"], found["lower_bound"]
    if quantity == "delta":
        logs = found.get("log_guarantee") or {end: log(enclosure[end]) for end in enclosure}
        attained = found["log_lower_bound"] if "log_lower_bound" in found else log(attained)
        return f"log delta{name}", [attained, logs["lower"], logs["upper"]]
    return f"epsilon{name}", [attained, enclosure["lower"], enclosure["upper"]]


def _tiers(found: Any) -> Facts:
    if found["epsilon0"] is not None:
        return {_LOWER: [found["epsilon0"]]}
    same = {"quantity": found["quantity"]}
    return dict(_guarantee(same | tier, f" {i}") for i, tier in enumerate(found["tiers"]))


def _compared(found: Any) -> Facts:
    values = {row["bound"]: row["epsilon"] for row in found["bounds"]}
    kept = {"epsilon": [values.pop("lower_bound", None), None, values.pop("guarantee")]}
    kept["epsilon of the blanket"] = [None, None, values.pop("blanket")]
    return kept | {f"{_SAME}, {name}": [value] for name, value in values.items()}


def _curves(found: Any) -> Facts:
    quantity = found["quantity"]
    lines = {line["bound"]: line["y"] for line in found["curves"]}
    kept = {}
    for i, (attained, upper) in enumerate(
        zip(lines["lower_bound"], lines["guarantee"], strict=True)
    ):
        ends = [attained, None, upper]
        if quantity == "delta":
            kept[f"log delta {i}"] = [log(end) for end in ends]
        else:
            kept[f"epsilon {i}"] = ends
    return kept


def _plan(found: Any) -> Facts:
    return {f"{_UPPER}, {option['name']}": [option["error"]] for option in found["options"]}


def _ledger(found: Any) -> Facts:
    if found["spent"] is None:
        return {_UPPER: [found["renyi"]["spent"]]}
    return {
        "epsilon": [None, None, found["spent"]["epsilon"]],
        "log delta": [None, None, log(found["spent"]["delta"])],
    }


def _certificate(found: Any) -> Facts:
    attained = found["lower_bound"] and float(found["lower_bound"]["epsilon"])
    return {"epsilon": [attained, None, float(found["guarantee"]["epsilon"])]}


FACTS: dict[str, Callable[[Any], Facts]] = {
    "tiers": _tiers,
    "compare": _compared,
    "curve": _curves,
    "plan": _plan,
    "ledger": _ledger,
    "certify": _certificate,
}


def differences(kept: Facts, now: Facts) -> Iterator[str]:
    """Yield how an answer is worse than the one kept, or contradicts it."""
    if kept and not now:
        yield "no answer any more"
        return
    for name, values in kept.items():
        if name not in now:
            yield f"nothing is said about {name!r} any more"
        elif name.startswith(("epsilon", "log delta")):
            yield from _of_enclosure(name, values, now[name])
        elif (values[0], now[name][0]) != (None, None):
            yield from _of_number(name, values[0], now[name][0])


def _of_enclosure(
    name: str, kept: Sequence[float | None], now: Sequence[float | None]
) -> Iterator[str]:
    """Yield what is wrong with an epsilon or log delta; None is infinite, downwards for deltas."""
    attained, low, high = _ends(name, kept)
    attained_now, low_now, high_now = _ends(name, now)
    if high_now > _raised(name, high):
        yield f"guarantee: {name} rises from {high!r} to {high_now!r}"
    if _raised(name, attained_now) < attained:
        yield f"attack: {name} falls from {attained!r} to {attained_now!r}"
    if high_now < max(attained, low):
        yield f"contradiction: {name} is {high_now!r}, at least {max(attained, low)!r} was known"
    if max(attained_now, low_now) > high:
        yield f"contradiction: {name} is at least {attained_now!r}, at most {high!r} was known"


def _ends(name: str, values: Sequence[float | None]) -> tuple[float, float, float]:
    none = (-math.inf, -math.inf, math.inf if name.startswith("epsilon") else -math.inf)
    attained, low, high = (end if v is None else v for v, end in zip(values, none, strict=True))
    return attained, low, high


def _raised(name: str, value: float) -> float:
    return value * (1 + OF_EPSILON) if name.startswith("epsilon") else value + OF_LOG_DELTA


def _of_number(name: str, kept: float | None, now: float | None) -> Iterator[str]:
    """Yield what is wrong with a number that should not rise (or fall), None if infinite."""
    if kept is None:
        return
    if now is None:
        yield f"{name} {kept!r} is infinite now"
    elif (not name.startswith(_LOWER) and now > _allowed(kept)) or (
        not name.startswith(_UPPER) and kept > _allowed(now)
    ):
        yield f"{name} {kept!r} is {now!r} now"


def _allowed(value: float) -> float:
    return value * (1 + OF_OTHERS) + isinstance(value, int)


class Kept(NamedTuple):
    """A question of some kind, its answer, and the milliseconds that it took."""

    kind: str
    question: str
    facts: Facts
    milliseconds: float


def read() -> list[Kept]:
    """Return the answers that are kept."""
    return [Kept(*row) for row in json.loads(KEPT.read_text(encoding="utf-8"))["answers"]]


def timed(text: str) -> tuple[Facts, float]:
    """Return the answer of a question and the milliseconds of the processor that it took."""
    start = time.process_time()
    found = answer(text)
    return found, 1e3 * (time.process_time() - start)


def compare(rows: Sequence[Kept]) -> bool:
    """Print differences and a table; whether all differences are explained."""
    unexplained, excused = 0, defaultdict(int)
    times, rises = defaultdict(list), defaultdict(list)
    for row in rows:
        try:
            now, milliseconds = timed(row.question)
        except FailedError as error:
            now, milliseconds = {}, math.nan
            sys.stdout.write(f"fails: {error}\n")
            unexplained += 1
        times[row.kind].append((row.milliseconds, milliseconds))
        rises[row.kind] += _rises(row.facts, now)
        for difference in differences(row.facts, now):
            if reason := excuse(row, difference):
                excused[reason] += 1
            else:
                unexplained += 1
                sys.stdout.write(f"{row.question}\n    {difference}\n")
    sys.stdout.write(
        "\n| kind | questions | guarantee: median change | largest | ms kept | ms now |\n"
        "|---|---|---|---|---|---|\n"
    )
    for kind, pairs in times.items():
        kept, now = (statistics.median(side) for side in zip(*pairs, strict=True))
        changes = rises[kind] or [math.nan]
        sys.stdout.write(
            f"| {kind} | {len(pairs)} | {statistics.median(changes):+.1e} | {max(changes):+.1e} | "
            f"{kept:.1f} | {now:.1f} |\n"
        )
    for reason, count in excused.items():
        sys.stdout.write(f"{count} explained: {reason}\n")
    sys.stdout.write(f"{len(rows)} questions, {unexplained} differences without explanation\n")
    return not unexplained


def against(source: Path, rows: Sequence[Kept]) -> None:
    """Print how long questions take here and in another checkout."""
    sys.stdout.write(
        "| kind | ms there | ms here | ratio | slowest here |\n|---|---|---|---|---|\n"
    )
    for kind in dict.fromkeys(row.kind for row in rows):
        asked = [row.question for row in rows if row.kind == kind]
        trees = (source, HERE)
        runs = [[_times_in(tree, asked) for tree in trees] for _ in range(_TURNS)]
        there, here = (
            [min(times) for times in zip(*(run[side] for run in runs), strict=True)]
            for side in (0, 1)
        )
        first, second = statistics.median(there), statistics.median(here)
        sys.stdout.write(
            f"| {kind} | {first:.1f} | {second:.1f} | {second / first:.2f} | {max(here):.0f} |\n"
        )


def _times_in(source: Path, asked: Sequence[str]) -> list[float]:
    """Return the milliseconds of all questions, asked by a process that imports from a folder."""
    done = subprocess.run(
        [sys.executable, __file__, "--times"],
        env=os.environ | {"PYTHONPATH": str(source.resolve())},
        input=json.dumps(asked),
        capture_output=True,
        check=True,
        text=True,
    )
    times: list[float] = json.loads(done.stdout)
    return times


def times(asked: Sequence[str]) -> list[float]:
    """Return the milliseconds that questions take, after one of each sort; 0 where one fails."""
    for text in _WARM:
        timed(text)
    found = []
    for text in asked:
        try:
            found.append(timed(text)[1])
        except FailedError:
            found.append(0.0)
    return found


def explanation(question: str, difference: str) -> str | None:
    """Return why an answer may differ in such a way, or None."""
    return next(
        (
            known.reason
            for known in EXPLAINED
            if re.search(known.question, question) and difference.startswith(known.difference)
        ),
        None,
    )


def excuse(row: Kept, difference: str) -> str | None:
    """Return why an answer may differ from the one kept in such a way, or None."""
    known = explanation(row.question, difference)
    near = f"an epsilon {OF_EPSILON:g} away, relatively, has the delta that is kept"
    return near if known is None and is_near(row, difference) else known


def is_near(row: Kept, difference: str) -> bool:
    """Whether a delta differs by no more than it does between epsilons `OF_EPSILON` apart."""
    sort = difference.partition(":")[0]
    if sort not in ("guarantee", "attack") or not re.match("(delta|rounds) ", row.question):
        return False
    factor = 1 + OF_EPSILON if sort == "guarantee" else 1 - OF_EPSILON
    moved = re.sub(
        r"(?<=--epsilon )\S+", lambda found: repr(float(found[0]) * factor), row.question
    )
    return not any(other.startswith(sort) for other in differences(row.facts, answer(moved)))


def _rises(kept: Facts, now: Facts) -> Iterator[float]:
    """Yield by how much guarantees of epsilon have risen, relatively."""
    for name, values in kept.items():
        if name.startswith("epsilon") and values[-1] and now.get(name, [None])[-1]:
            yield now[name][-1] / values[-1] - 1


def write() -> None:
    """Ask everything; keep the answers."""
    signal.signal(signal.SIGPROF, _give_up)
    rows: list[Kept] = []
    shown = time.monotonic()
    for kind, text in asked():
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            found, milliseconds = timed(text)
        except (FailedError, ValueError, TooSlow) as error:
            sys.stderr.write(f"fails: {text}: {error}\n")
            if _MISTAKE not in error.args:
                continue
            found, milliseconds = {}, 0.0
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        rows.append(Kept(kind, text, found, float(f"{milliseconds:.3g}")))
        if kind in BOTH_WAYS and len(rows) % 4 == 0 and (other := other_way(text, found)):
            rows.append(Kept(kind, other, *timed(other)))
        if time.monotonic() > shown + 60:
            shown = time.monotonic()
            sys.stderr.write(f"{len(rows)} answers, now {kind}\n")
    save(rows)


def save(rows: Iterable[Kept]) -> None:
    """Write answers, one per line."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    KEPT.write_text(
        f'{{"version":"{shuffledp.__version__}","answers":[\n{lines}\n]}}\n', encoding="utf-8"
    )


def asked() -> Iterator[tuple[str, str]]:
    """Yield all questions, each once."""
    seen = set()
    for kind, text in questions():
        if text not in seen:
            seen.add(text)
            yield kind, text


def other_way(text: str, found: Facts) -> str | None:
    """Return the question which delta there is, at an epsilon near the answer."""
    epsilon = found.get("epsilon", [None])[-1]
    if not epsilon:
        return None
    near = epsilon * random.Random(text).uniform(0.7, 1.2)
    asked = re.sub(r"--delta \S+", f"--epsilon {near:.4g}", text)
    return re.sub("^epsilon", "delta", asked)


def _give_up(*_: object) -> None:
    raise TooSlow(f"no answer in {_SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep the answers of this tree")
    parser.add_argument("--against", type=Path, help="the folder src of another checkout")
    parser.add_argument("--times", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--every", type=int, default=1, help="ask only every so many-th question")
    parser.add_argument("--kind", help="ask only questions of this kind")
    chosen = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # one core: the time of other processes is not seen
        os.sched_setaffinity(0, {random.choice(list(os.sched_getaffinity(0)))})
    if chosen.write:
        write()
        return
    if chosen.times:
        sys.stdout.write(json.dumps(times(json.load(sys.stdin))))
        return
    rows = [row for row in read() if chosen.kind in (None, row.kind)]
    if chosen.against is not None:
        against(chosen.against, rows[:: chosen.every])
        return
    sys.exit(0 if compare(rows[:: chosen.every]) else 1)


if __name__ == "__main__":
    main()
