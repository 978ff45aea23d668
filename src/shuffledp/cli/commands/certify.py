"""``shuffledp certify``: an answer as a proof that others can check."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.accounting import MixedAccountant
from shuffledp.cli.answers.asked import accountant
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.parameters import DELTA, EPSILON, optional
from shuffledp.cli.setting_options import SETTING, complete, refuse, save_setting, take_setting
from shuffledp.cli.terminal import proving


@click.command(
    params=[*SETTING[:2], optional(DELTA), optional(EPSILON), *SETTING[2:]], epilog=EPILOG
)
def certify(delta: float | None, epsilon: float | None, kept: str | None, **options: Any) -> None:
    """Prove the epsilon at a delta, or the delta at an epsilon.

    The answer is proved again from the definition of the mechanism, and printed as a certificate
    (JSON) that "shuffledp verify" checks. The certificate names the bound that it proves: where the
    prover does not know the swap bound it is the blanket bound. Of several rounds it holds deltas
    of one round, each of them proved, and their composition.
    Certificates are about the multiset of reports, and hold for its sum as well; with --view sum
    they are about the sum alone, which can be proved for added noise, for unary encodings and for
    hashing among all functions.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    if (delta is None) == (epsilon is None):
        raise click.UsageError("give one of --delta and --epsilon: the other one is proved")
    setting = complete(take_setting(options))
    asked = accountant(setting)
    if isinstance(asked, MixedAccountant):
        raise click.UsageError("certificates are about users who run one mechanism, without groups")
    refuse(setting, "certificates know no reports learned adaptively", "corrupted_adaptively")
    from shuffledp.certificates import certify as prove
    from shuffledp.certificates.known_sums import why_unknown

    if (
        setting.view != "multiset"
        and (reason := why_unknown(setting.randomizer, setting.crowd.honest)) is not None
    ):
        raise click.UsageError(
            f"{reason}; certificates of the multiset hold for the sum as well: leave out --view"
        )
    with proving() as progress:
        certificate = prove(asked, target_delta=delta, target_epsilon=epsilon, progress=progress)
    save_setting(setting, kept)
    click.echo(certificate.to_json())
