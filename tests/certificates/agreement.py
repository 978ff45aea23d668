"""Compares the answers of accountants with proofs."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext

from blankets import blanket_accountant
from random_cases import Case

from shuffledp.basics.errors import MAX_EPSILON0
from shuffledp.certificates.proof import Claim, Proof, prove_guarantee, prove_leak
from shuffledp.engine.progress import silent


def log(number: Decimal) -> Decimal:
    """The natural logarithm, also of numbers beyond the range of doubles."""
    with localcontext(prec=40):
        return number.ln()


def disagreement(case: Case) -> str | None:
    """Say where answer and proof exclude each other, if they do."""
    randomizer, delta = case.randomizer, Decimal(case.delta)
    accountant = blanket_accountant(randomizer, case.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = accountant.epsilon_report(case.delta)
        interval = report.guarantee
    if interval.upper > MAX_EPSILON0:
        return None

    def prove(epsilon: float) -> Proof:
        claim = Claim(randomizer, case.n, Decimal(epsilon), delta)
        return prove_guarantee(claim, silent)

    at_upper = prove(interval.upper)
    if at_upper.lower > delta:
        return f"epsilon {interval.upper!r} is too small: delta is at least {at_upper.lower}"
    if 0 < interval.lower < interval.upper:
        at_lower = prove(interval.lower)
        if at_lower.upper < delta:
            return f"epsilon {interval.lower!r} is too large: delta is at most {at_lower.upper}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logs = accountant.log_delta_interval(interval.upper)
    lower, upper = log(at_upper.lower), log(at_upper.upper)
    if lower > logs.upper or upper < logs.lower:
        return f"log delta at {interval.upper!r}: {logs} and [{at_upper.lower}, {at_upper.upper}]"
    if 0 < report.lower_bound <= MAX_EPSILON0:
        claim = Claim(randomizer, case.n, Decimal(report.lower_bound), delta)
        leak = prove_leak(claim, report.datasets, silent)
        if leak.upper < delta:
            return f"lower bound {report.lower_bound!r}: delta is at most {leak.upper}"
    return None
