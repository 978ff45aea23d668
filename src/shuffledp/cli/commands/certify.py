"""``shuffledp certify``: an answer as a proof that others can check."""

from __future__ import annotations

import click

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import BOUND, DELTA, EPSILON, MECHANISM, USERS, VIEW, optional
from shuffledp.cli.terminal import proving
from shuffledp.mechanisms import LocalRandomizer


@click.command(
    params=[MECHANISM, USERS, optional(DELTA), optional(EPSILON), BOUND, VIEW], epilog=EPILOG
)
def certify(
    mechanism: LocalRandomizer,
    n: int,
    delta: float | None,
    epsilon: float | None,
    bound: Bound,
    view: View,
) -> None:
    """Prove the epsilon at a delta, or the delta at an epsilon.

    The answer is proved again from the definition of the mechanism, and printed as a certificate
    (JSON) that "shuffledp verify" checks. The certificate names the bound that it proves: where the
    prover does not know the swap bound it is the blanket bound. It covers one round of collection,
    not what several reveal together.
    Certificates are about the multiset of reports, and hold for its sum as well; with --view sum
    they are about the sum alone, which can be proved for added noise, for unary encodings and for
    hashing among all functions.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    if (delta is None) == (epsilon is None):
        raise click.UsageError("give one of --delta and --epsilon: the other one is proved")
    from shuffledp.certificates import certify as prove
    from shuffledp.certificates.known_sums import why_unknown

    if view != "multiset" and (reason := why_unknown(mechanism, n)) is not None:
        raise click.UsageError(
            f"{reason}; certificates of the multiset hold for the sum as well: leave out --view"
        )
    accountant = ShuffleAccountant(mechanism, n, bound=bound, view=view)
    with proving() as progress:
        certificate = prove(
            accountant, target_delta=delta, target_epsilon=epsilon, progress=progress
        )
    click.echo(certificate.to_json())
