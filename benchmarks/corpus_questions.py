"""Random questions of every kind that ``corpus.py`` keeps answers to.

A question is a command line without ``shuffledp`` and ``--json``; several, joined by `THEN`, run in
one empty folder and the last one answers. Some begin with a name of ``corpus.PYTHON`` instead: what
only Python can ask.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import corners

THEN = " && "

SUPPORT = (
    "krr(k={k}, epsilon0={level})",
    "blh(epsilon0={level}{domain})",
    "olh(epsilon0={level}{domain})",
    "olh(epsilon0={level}, buckets={few}{domain})",
    "rappor(epsilon0={level}{domain})",
    "oue(epsilon0={level}{domain})",
    "unary(p={high}, q={low}{domain})",
    "hadamard(epsilon0={level}{domain})",
    "subset(epsilon0={level}, domain_size={k})",
    "subset(epsilon0={level}, domain_size={k}, size={size})",
)
NOISE = (
    "laplace(epsilon0={level})",
    "laplace(epsilon0={level}, domain='interval')",
    "gaussian(sigma={sigma})",
    "discrete_laplace(epsilon0={level}, bound={few})",
    "discrete_laplace(epsilon0={level}, bound={k})",
)
GENERIC = ("any_pure_ldp(epsilon0={level})",)
SUMMED = (*NOISE, "rappor(epsilon0={level}{domain})", "oue(epsilon0={level}{domain})")
FAMILIES = ("krr(k={k})", "blh()", "olh()", "rappor()", "oue()", "hadamard()", "laplace()",
            "subset(domain_size={k})", "discrete_laplace(bound={few})", "any_pure_ldp()",
            "joint(krr(k={k}), oue())")  # fmt: skip


def _log(draw: random.Random, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform, of four digits."""
    return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}")


def fill(draw: random.Random, text: str) -> str:
    """Return a mechanism with random parameters."""
    k = draw.choice((2, 3, 4, 5, 10, 20, 100, 1000))
    return text.format(
        k=k,
        few=draw.choice((2, 3, 4, 8, 16)),
        size=draw.randint(1, k - 1),
        level=_log(draw, 0.05, 10),
        sigma=_log(draw, 0.5, 8),
        high=draw.choice((0.5, 0.75, 0.9)),
        low=draw.choice((0.0625, 0.125, 0.25)),
        domain=draw.choice(("", f", domain_size={k}")),
    )


def mechanism(draw: random.Random, *kinds: tuple[str, ...]) -> str:
    """Return one mechanism of some kinds, or any single one."""
    return fill(draw, draw.choice(draw.choice(kinds or (SUPPORT, SUPPORT, NOISE, GENERIC))))


def matrix(draw: random.Random, inputs: int = 0, outputs: int = 0) -> str:
    """Return a matrix of multiples of 1/40, each at least 1/40."""
    inputs, outputs = inputs or draw.randint(2, 4), outputs or draw.randint(2, 5)
    rows = []
    for _ in range(inputs):
        cuts = sorted(draw.sample(range(1, 40), outputs - 1))
        rows.append([(b - a) / 40 for a, b in zip([0, *cuts], [*cuts, 40], strict=True)])
    return f"matrix({rows})"


def composition(draw: random.Random, depth: int = 1) -> str:
    """Return a joint report, a choice, or a mechanism of which not everybody takes part."""

    def part(kinds: tuple[str, ...] = SUPPORT) -> str:
        return composition(draw, 0) if depth and draw.random() < 0.15 else mechanism(draw, kinds)

    kind = draw.choice(("joint", "joint", "parallel", "one_of", "subsample"))
    if kind == "joint":
        parts = [part() for _ in range(draw.randint(2, 4))]
        limit = draw.choice(("", "", f", at_most={draw.randint(1, len(parts))}"))
        return f"joint({', '.join(parts)}{limit})"
    if kind == "subsample":
        return f"subsample({part(draw.choice((SUPPORT, NOISE)))}, rate={_log(draw, 0.01, 1)})"
    share = draw.choice((0.125, 0.25, 0.5))
    if kind == "one_of":
        return f"one_of({share}*{part()}, {1 - share}*{part()})"
    k, (first, second) = draw.choice((3, 5, 10)), (_log(draw, 0.1, 6) for _ in range(2))
    other = draw.choice(("krr(k={k}, epsilon0={e})", "subset(epsilon0={e}, domain_size={k})",
                         "oue(epsilon0={e}, domain_size={k})"))  # fmt: skip
    return (
        f"parallel({share}*krr(k={k}, epsilon0={first}), {1 - share}*{other.format(k=k, e=second)})"
    )


def any_mechanism(draw: random.Random) -> str:
    return draw.choice((mechanism, mechanism, mechanism, matrix, composition))(draw)


def users(draw: random.Random, least: float = 2, most: float = 1e12) -> int:
    return max(2, round(_log(draw, least, most)))


def delta(draw: random.Random, n: int) -> str:
    """Draw a delta, of 1e-12 or of 1e-40 at least; mostly one that epsilon = 0 does not have."""
    value = 10 ** draw.uniform(draw.choice((-12, -40)), -1.5)
    if value > n**-0.6 and draw.random() < 0.9:
        value = n ** -draw.uniform(0.7, 1.6)
    return f"{value:.4g}"


def bound(draw: random.Random) -> str:
    return draw.choice(("", " --bound blanket"))


def corrupted(draw: random.Random, n: int) -> str:
    """Draw a number or share of corrupted users, or none, fixed or chosen after the fact."""
    some = draw.choice(("0.05", "30%", str(draw.randint(1, max(1, n // 3)))))
    option = draw.choice(("--corrupted", "--corrupted", "--corrupted-adaptively"))
    return f" {option} {some}"


def _asked(draw: random.Random, text: str, n: int | None = None) -> str:
    n = n or users(draw)
    return f'epsilon "{text}" -n {n} --delta {delta(draw, n)}'


def support(draw: random.Random) -> str:
    return _asked(draw, mechanism(draw, SUPPORT)) + bound(draw)


def noise(draw: random.Random) -> str:
    return _asked(draw, mechanism(draw, NOISE)) + bound(draw)


def generic(draw: random.Random) -> str:
    return _asked(draw, draw.choice((mechanism(draw, GENERIC), matrix(draw)))) + bound(draw)


def composed(draw: random.Random) -> str:
    return _asked(draw, composition(draw)) + bound(draw)


def few_users(draw: random.Random) -> str:
    return _asked(draw, any_mechanism(draw), draw.randint(2, 40)) + bound(draw)


def corner(draw: random.Random) -> str:
    text, n, target = corners.question(draw)
    return f'epsilon "{text}" -n {max(2, n)} --delta {target}{bound(draw)}'


def sums(draw: random.Random) -> str:
    text = mechanism(draw, SUMMED)
    if draw.random() < 0.2:
        text = f"joint({text}, {mechanism(draw, SUMMED)})"
    return f"{_asked(draw, text)} --view sum"


def crowd(draw: random.Random) -> str:
    n = users(draw, 20)
    return _asked(draw, any_mechanism(draw), n) + corrupted(draw, n) + bound(draw)


def rounds(draw: random.Random) -> str:
    text, n = any_mechanism(draw), users(draw, 100)
    asked = f'rounds "{text}" -n {n} --times {users(draw, 2, 1e6)}'
    if draw.random() < 0.3:
        more = f'"{mechanism(draw)}" {users(draw, 10)}'
        asked += f" --round {draw.randint(1, 20)} {more}"
    if draw.random() < 0.3:
        asked += f" --at-most {draw.randint(1, 50)}"
    if draw.random() < 0.2:
        asked += " --corrupted 5%"
    return f"{asked} --delta {delta(draw, n)}{bound(draw)}"


def fitting_rounds(draw: random.Random) -> str:
    n = users(draw, 1e3, 1e9)
    text = mechanism(draw, SUPPORT, NOISE)
    return f'rounds "{text}" -n {n} {target(draw)}'


def target(draw: random.Random) -> str:
    return f"--epsilon {_log(draw, 0.01, 1)} --delta {10 ** draw.uniform(-12, -5):.4g}"


def tiers(draw: random.Random) -> str:
    family = draw.choice(("krr(k={k}, epsilon0={e})", "subset(epsilon0={e}, domain_size={k})"))
    k = draw.choice((3, 10, 50))
    levels = [_log(draw, 0.2, 5) for _ in range(draw.randint(1, 4))]
    groups = "".join(
        f' --group "{family.format(k=k, e=level)}={users(draw, 10, 1e7)}"' for level in levels
    )
    if draw.random() < 0.2:
        groups += f' --group "{mechanism(draw, SUPPORT)}={users(draw, 10, 1e7)}"'
    elif draw.random() < 0.3:
        groups += f" --dummies {users(draw, 1, 1e5)}"
    if draw.random() < 0.2:
        groups += " --corrupted 5"
    if draw.random() < 0.25:
        return f"tiers{groups} --epsilon {_log(draw, 0.01, 1)}"
    return f"tiers{groups} --delta {10 ** draw.uniform(-12, -5):.4g}"


def calibrated_tiers(draw: random.Random) -> str:
    k = draw.choice((3, 10, 50))
    groups = f'--group "krr(k={k}, epsilon0={_log(draw, 0.2, 2)})={users(draw, 100, 1e6)}"'
    return f'tiers {groups} --group "krr(k={k})={users(draw, 100, 1e6)}" {target(draw)}'


def calibrations(draw: random.Random) -> str:
    n, more = users(draw, 100, 1e6), draw.choice(("", "", " --rounds 12", " --view sum"))
    if not more:
        more = draw.choice((bound(draw), corrupted(draw, n)))
    return f'calibrate "{fill(draw, draw.choice(FAMILIES))}" -n {n} {target(draw)}{more}'


def enough_users(draw: random.Random) -> str:
    more = draw.choice(("", "", " --corrupted 5%", " --rounds 12", " --view sum"))
    text = mechanism(draw, SUPPORT, NOISE)
    return f'users "{text}" {target(draw)}{more or bound(draw)}'


def comparisons(draw: random.Random) -> str:
    text = mechanism(draw, SUPPORT, NOISE, GENERIC)
    return f'compare "{text}" -n {users(draw, 100, 1e7)} --delta {10 ** draw.uniform(-10, -5):.4g}'


def curves(draw: random.Random) -> str:
    against = draw.choice(("users", "epsilon0", "delta", "epsilon", "rounds"))
    text = mechanism(draw, SUPPORT, NOISE[:2])
    if against == "epsilon0":
        text = fill(draw, draw.choice(FAMILIES[:6]))
    asked = f'curve "{text}" --against {against} --points {draw.randint(3, 6)}'
    if against != "users":
        asked += f" -n {users(draw, 100, 1e7)}"
    if against not in ("delta", "epsilon"):
        asked += f" --delta {10 ** draw.uniform(-10, -5):.4g}"
    return asked


def plans(draw: random.Random) -> str:
    n = users(draw, 1e3, 1e6)
    task = draw.choice(("", " --task mean"))
    size = draw.choice((2, 10, 50))
    return f"plan{task} --domain {size} -n {n} {target(draw)}"


def ledgers(draw: random.Random) -> str:
    kind = draw.choice(("", "", " --adaptive"))
    begun = f"ledger new spent.jsonl --epsilon 4 --delta {10 ** draw.uniform(-9, -4):.4g}{kind}"
    added = [
        f'ledger add spent.jsonl "{mechanism(draw, SUPPORT)}" -n {users(draw, 1e3, 1e7)} '
        f"--times {draw.randint(1, 20)} --beyond"
        for _ in range(draw.randint(1, 3))
    ]
    return THEN.join((begun, *added, "ledger show spent.jsonl"))


def certificates(draw: random.Random) -> str:
    text, n = mechanism(draw, SUPPORT), users(draw, 10, 1e9)
    return f'certify "{text}" -n {n} --delta {delta(draw, n)}'


def audits(draw: random.Random) -> str:
    text = f"krr(k={draw.choice((2, 5))}, epsilon0={_log(draw, 0.5, 3)})"
    return f'audit "{text}" -n {users(draw, 5, 200)} --delta 0.01 --trials 200 --seed 1'


def clones(draw: random.Random) -> str:
    kind = draw.choice(("primary", "simplified", "standard", "stronger"))
    inputs = draw.randint(2, 4)
    pair = " ".join(map(str, draw.sample(range(inputs), 2)))
    n = users(draw, 2, 1e9)
    return f'clone {kind} "{matrix(draw, inputs)}" {pair} {n} {delta(draw, n)}'


def attackers(draw: random.Random) -> str:
    n, what = users(draw, 10, 1e9), draw.choice(("advantage", "tradeoff 0.05", "renyi 8"))
    return f'attacker "{mechanism(draw, SUPPORT, NOISE)}" {n} {what}'


def known(_: random.Random) -> Iterator[str]:
    """Yield questions that an earlier engine is known to have answered wrongly or oddly."""
    rows = [[0.4, 0.1, 0.5], [0.1, 0.4, 0.5], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]
    exchanged = [rows[x] for x in (0, 1, 3, 2, 4)]
    parallel = f"parallel(0.5*matrix({rows}), 0.5*matrix({exchanged}))"
    yield f'epsilon "{parallel}" -n 10 --delta 0.01'
    yield f'epsilon "{parallel}" -n 1000 --delta 1e-6'
    yield f'delta "{parallel}" -n 1000 --epsilon 0.15'
    yield f'rounds "{parallel}" -n 1000 --times 10 --delta 1e-6'
    for limit in ("at_most", "exactly"):
        parts = "krr(k=4, epsilon0=2), krr(k=3, epsilon0=2)"
        yield f'epsilon "joint({parts}, {limit}=1)" -n 1000 --delta 1e-6'
    for level in (8, 9):
        yield f'delta "rappor(epsilon0={level})" -n 100000 --epsilon 0.9 --view sum'
    yield 'calibrate "rappor()" -n 100000 --epsilon 0.906 --delta 1e-9 --view sum'


#: What is asked, how often, and how; asked about delta besides, at an epsilon with such a delta.
KINDS: dict[str, tuple[int, Callable[[random.Random], str]]] = {
    "support": (340, support),
    "noise": (160, noise),
    "generic": (90, generic),
    "composed": (160, composed),
    "few users": (160, few_users),
    "corners": (190, corner),
    "sums": (120, sums),
    "crowds": (130, crowd),
    "rounds": (100, rounds),
    "fitting rounds": (15, fitting_rounds),
    "tiers": (80, tiers),
    "calibrated tiers": (8, calibrated_tiers),
    "calibrate": (70, calibrations),
    "users": (70, enough_users),
    "compare": (30, comparisons),
    "curve": (25, curves),
    "plan": (6, plans),
    "ledger": (8, ledgers),
    "certify": (15, certificates),
    "audit": (4, audits),
    "clones": (50, clones),
    "attackers": (40, attackers),
}

#: Of these every fourth question is also asked the other way round.
BOTH_WAYS = ("support", "noise", "generic", "composed", "few users", "corners", "sums", "crowds",
             "rounds")  # fmt: skip


def questions(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield all questions, each with its kind."""
    for kind, (count, ask) in KINDS.items():
        draw = random.Random(f"{kind} {seed}")
        for _ in range(count):
            yield kind, ask(draw)
    for text in known(random.Random(seed)):
        yield "known", text
