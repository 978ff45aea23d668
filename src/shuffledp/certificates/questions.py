"""The two questions: prove this, and is that proved?"""

from __future__ import annotations

from dataclasses import replace

from shuffledp.accounting import Rounds, ShuffleAccountant, as_accountant
from shuffledp.accounting.setting import Bound
from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.errors import NoAnswerError, check_delta, check_epsilon, check_total_epsilon
from shuffledp.certificates.certificate import Certificate
from shuffledp.certificates.known_sums import why_unknown
from shuffledp.engine.progress import Progress, silent
from shuffledp.mechanisms import LocalRandomizer


@usual_errors
def certify(
    accountant: ShuffleAccountant | Rounds | LocalRandomizer | str,
    n: int | None = None,
    *,
    target_delta: float | None = None,
    target_epsilon: float | None = None,
    bound: Bound | None = None,
    progress: Progress = silent,
) -> Certificate:
    """Prove an answer of an accountant from the definition of its mechanism.

    The epsilon at ``target_delta``, or the delta at ``target_epsilon``, is proved again from laws
    and pairs of inputs that are derived a second time. Where the accountant's answer is sharper
    than what could be proved, a slightly larger one is certified. So is, from below, what the
    accountant's pair of datasets reveals. Of several rounds of one kind some fifty to a few hundred
    deltas of one round are proved, and composed; their epsilon is about 1% larger than that of
    :class:`shuffledp.Rounds`, and there is no lower bound.

    With ``bound="best"`` the swap bound is proved where it is smaller and known to the prover: for
    support mechanisms, matrices of few rows, binary noise and compositions of these. Elsewhere, as
    for noise on an interval, the certificate proves the blanket bound; its field ``bound`` says
    which. Of sums alone (``view="sum"``) it can be proved what sums of noise reveal, and sums of
    independent bits (unary encodings, hashing by all functions) of up to ten million users; other
    sums have the certificate of the multiset.

    Args:
        accountant: who answers, of one round or of several; or the mechanism, or its text.
        n: number of users, only where no accountant is given.
        target_delta: the delta at which to prove an epsilon.
        target_epsilon: the epsilon at which to prove a delta; exactly one of the two is given.
        bound: "blanket" or "best", as for an accountant; None for that of the accountant.
        progress: is told how far a long proof is.

    Raises:
        NoAnswerError: if nothing can be proved.

    >>> certificate = certify("krr(k=10, epsilon0=2)", n=10_000, target_delta=1e-6)
    >>> certificate.guarantee.epsilon[:6], certificate.guarantee.delta
    ('0.0798', '0.000001')
    >>> verify(certificate)
    >>> sharper = certify("blh(epsilon0=1)", n=1000, target_delta=1e-6, bound="best")
    >>> sharper.guarantee.epsilon[:6], sharper.bound
    ('0.0848', 'swap')
    """
    if (target_delta is None) == (target_epsilon is None):
        raise ValueError(
            "exactly one of target_delta and target_epsilon must be given, got "
            f"{target_delta!r} and {target_epsilon!r}"
        )
    from shuffledp.certificates.derivation import check_known
    from shuffledp.certificates.issue import issue_for_delta, issue_for_epsilon
    from shuffledp.certificates.issue_rounds import issue_rounds

    several = accountant if isinstance(accountant, Rounds) else None
    if isinstance(accountant, Rounds):
        accountant = accountant.kinds[0].accountant
    one = _as_provable(accountant, n)
    if one.view == "multiset":
        check_known(one.randomizer)
    if bound is not None and bound != one.bound and one.view == "multiset":
        one = ShuffleAccountant.of(replace(one.setting, bound=bound), one.rtol)
    if several is not None and several.total > 1:
        if len(several.kinds) > 1:
            raise NoAnswerError("certificates of several rounds are about rounds of one kind")
        several = one.rounds(several.total, at_most=several.at_most)
        delta = None if target_delta is None else check_delta(target_delta)
        return issue_rounds(
            several, delta, target_epsilon and check_total_epsilon(target_epsilon), progress
        )
    if target_delta is not None:
        return issue_for_delta(one, check_delta(target_delta), progress)
    return issue_for_epsilon(one, check_epsilon(target_epsilon), progress)


def _as_provable(
    accountant: ShuffleAccountant | LocalRandomizer | str, n: int | None
) -> ShuffleAccountant:
    """Return an accountant of the multiset, or of sums that are known to the prover."""
    if not (isinstance(accountant, ShuffleAccountant) and n is None):
        return as_accountant(accountant, n)
    crowd = accountant.crowd
    if crowd.corrupted_adaptively:
        raise ValueError(f"certificates know no reports learned adaptively, got {crowd}")
    if (
        accountant.view == "sum"
        and (reason := why_unknown(accountant.randomizer, crowd.honest)) is not None
    ):
        raise ValueError(f"{reason}; what holds for the multiset holds for the sum")
    return accountant


@usual_errors
def verify(certificate: Certificate, *, progress: Progress = silent) -> None:
    """Prove every statement of a certificate again, from its mechanism and n alone.

    Raises:
        CertificateError: with the reason if a statement cannot be proved or a field does not agree.
    """
    if not isinstance(certificate, Certificate):
        raise TypeError(f"certificate must be a Certificate, got {certificate!r}")
    from shuffledp.certificates.check import check_certificate

    check_certificate(certificate, progress)
