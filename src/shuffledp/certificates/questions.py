"""The two questions: prove this, and is that proved?"""

from __future__ import annotations

from shuffledp.accounting import Rounds, ShuffleAccountant, as_accountant
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.report import Bound
from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.errors import check_delta, check_epsilon
from shuffledp.certificates.certificate import Certificate
from shuffledp.certificates.known_sums import why_unknown
from shuffledp.engine.progress import Progress, silent
from shuffledp.mechanisms import LocalRandomizer


@usual_errors
def certify(
    accountant: ShuffleAccountant | LocalRandomizer | str,
    n: int | None = None,
    *,
    target_delta: float | None = None,
    target_epsilon: float | None = None,
    bound: Bound | None = None,
    progress: Progress = silent,
) -> Certificate:
    """Prove an answer of an accountant from the definition of its mechanism, for one round.

    The epsilon at ``target_delta``, or the delta at ``target_epsilon``, is proved again from laws
    and pairs of inputs that are derived a second time. Where the accountant's answer is sharper
    than what could be proved, a slightly larger one is certified. So is, from below, what the
    accountant's pair of datasets reveals. What several rounds reveal together is not covered, as
    the assumptions of the certificate say.

    With ``bound="best"`` the swap bound is proved where it is smaller and known to the prover: for
    support mechanisms, matrices of few rows, binary noise and compositions of these, and normal
    noise. Elsewhere the certificate proves the blanket bound; its field ``bound`` says which. Of
    sums alone (``view="sum"``) it can be proved what sums of noise reveal, and sums of independent
    bits (unary encodings, hashing by all functions) of up to ten million users; other sums have the
    certificate of the multiset.

    Args:
        accountant: the mechanism and the number of users; or the mechanism, or its text.
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
    if isinstance(accountant, Rounds):
        raise TypeError(
            f"certificates cover one round, got {accountant!r}; prove one of its accountants"
        )
    accountant = _as_provable(accountant, n)
    if (target_delta is None) == (target_epsilon is None):
        raise ValueError(
            "exactly one of target_delta and target_epsilon must be given, got "
            f"{target_delta!r} and {target_epsilon!r}"
        )
    from shuffledp.certificates.derivation import check_known
    from shuffledp.certificates.issue import issue_for_delta, issue_for_epsilon

    if accountant.view == "multiset":
        check_known(accountant.randomizer)
    if bound is not None and bound != accountant.bound and accountant.view == "multiset":
        accountant = ShuffleAccountant(
            accountant.randomizer, accountant.n, rtol=accountant.rtol, bound=bound
        )
    if target_delta is not None:
        return issue_for_delta(accountant, check_delta(target_delta), progress)
    return issue_for_epsilon(accountant, check_epsilon(target_epsilon), progress)


def _as_provable(
    accountant: ShuffleAccountant | LocalRandomizer | str, n: int | None
) -> ShuffleAccountant:
    """Return an accountant of the multiset, or of sums that are known to the prover."""
    if not (isinstance(accountant, ShuffleAccountant) and n is None and accountant.view == "sum"):
        return as_accountant(accountant, n)
    if accountant.crowd != Crowd(accountant.n):
        raise ValueError(
            f"accountant must be one of honest users here, got {accountant.crowd}; of users fixed "
            f"in advance, n = {accountant.crowd.honest} honest ones are what is left"
        )
    if (reason := why_unknown(accountant.randomizer, accountant.n)) is not None:
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
