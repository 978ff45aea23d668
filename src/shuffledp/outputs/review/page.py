"""The document: one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

from shuffledp._version import __version__
from shuffledp.accounting import Report, RoundsReport
from shuffledp.accounting.answered import Answered
from shuffledp.accounting.assumptions import LEVEL
from shuffledp.basics.figures import Chart, picture
from shuffledp.basics.markup import bar, render
from shuffledp.basics.rounding import exp_above, exp_below, given_or_up, plain, round_down, round_up
from shuffledp.basics.wording import counted, shorten
from shuffledp.bounds.curve import Proof
from shuffledp.certificates import Certificate
from shuffledp.comparison import OURS
from shuffledp.outputs.review.accuracy import accuracy
from shuffledp.outputs.review.commands import commands, proof_command
from shuffledp.outputs.review.cover import ANSWERS, Cover, Whole
from shuffledp.outputs.review.embedded import address_of
from shuffledp.outputs.review.findings import Findings
from shuffledp.outputs.review.portrait import likely, portrait

_PICTURE = (4.4, 3.3)  # inches, two of them side by side
_MAX_TEXT = 400  # characters of a mechanism, which may be a matrix

#: What proves a guarantee, in words.
_PROOFS: dict[Proof, str] = {
    "blanket": "the optimal decomposition (“blanket”) bound",
    "swap": "the swap bound, over all datasets that the other users may hold",
    "exact": "the exact worst case over all datasets",
    "composition": "the composition of the sums of all attributes",
}


def review_page(
    report: Answered,
    cover: Cover | None = None,
    certificate: Certificate | None = None,
    whole: Whole | None = None,
) -> str:
    """Return the document about one guarantee, for people who decide and do not compute.

    Args:
        report: the guarantee, of one round or of several.
        cover: what the owner of the collection says.
        certificate: a proof to be embedded.
        whole: what the reports are a part of.

    Raises:
        NoAnswerError: if the report has no finite epsilon.
        ValueError: if rounds are of several kinds.
        MissingExtraError: if matplotlib, which draws the pictures, is not installed.
    """
    if not isinstance(report, Report | RoundsReport):
        raise TypeError(f"report must be one of rounds of one mechanism, got {report!r}")
    return write_page(Findings(report), cover or Cover(), certificate, whole)


def write_page(
    found: Findings,
    cover: Cover,
    certificate: Certificate | None = None,
    whole: Whole | None = None,
) -> str:
    """Return the document about numbers that may be there already."""
    sound = [row for row in found.comparison.rows if row.sound]
    return render(
        "shuffledp.outputs.review",
        "page.html",
        version=__version__,
        cover=cover,
        answers={
            name: (getattr(cover, name), asked[0].lower() + asked[1:-1])
            for name, asked in ANSWERS.items()
        },
        found=found,
        report=found.report,
        several=counted(found.rounds, "round") if found.rounds > 1 else None,
        certificate=certificate,
        address=None if certificate is None else address_of(certificate),
        whole=whole,
        mechanism=shorten(str(found.randomizer), _MAX_TEXT),
        portrait=portrait(found.randomizer),
        errors=accuracy(found.randomizer, found.crowd),
        epsilon=_epsilon(found),
        lower_bound=_lower_bound(found),
        delta=_delta(found),
        factor=round_up(exp_above(found.epsilon)),
        least_factor=round_down(exp_below(-found.epsilon)),
        right=math.nextafter((1 + found.advantage) / 2, 1.0),
        level=_level(found),
        level_meaning=LEVEL,
        of_whatever=_whatever(found),
        what_ifs=list(_what_ifs(found)),
        hits=[(f"{plain(100 * rate)} %", f"{_percent(hit)} %") for rate, hit in found.hits],
        published=[row.cells[:3] for row in sound if row.epsilon is not None],
        ours=len([row for row in sound if row.bound in OURS]),
        unknown=[f"{row.cells[0]}: {row.reason}" for row in sound if row.epsilon is None],
        proof=_proof(found),
        datasets=_datasets(found),
        commands=list(commands(found)),
        proof_command=proof_command(found),
        percent=_percent,
        likely=likely,
        bar=bar,
        picture=_picture,
    )


def _what_ifs(found: Findings) -> Iterator[tuple[str, str, str]]:
    """Yield what may happen, in what measure, and the epsilon then."""
    rounds = "" if found.rounds == 1 else f", {counted(found.rounds, 'round')}"
    yield "as assumed", f"{found.crowd}{rounds}", _epsilon(found)
    longer = "the same users are asked again" if not rounds else "the collection goes on"
    for what, cases, noun in (
        ("fewer users take part", found.fewer, "user"),
        ("more users work for the analyst", found.colluding, "user"),
        (longer, found.repeated, "round"),
    ):
        for case in cases:
            yield what, f"{counted(case.count, noun)} in all", _up(case.epsilon)
    if found.always is not None:
        all_rounds = counted(found.always.count, "round")
        yield "users take part in all rounds", all_rounds, _up(found.always.epsilon)
    if found.one_round is not None:
        yield "one round, looked at alone", "1 round", _up(found.one_round)
    fails = f"the {found.seen.middle} fails"
    if found.shuffled is not None:
        yield fails, f"all reports, without order or sender{rounds}", _up(found.shuffled)
    one = "one" if rounds else "every"
    yield fails, f"{one} report with its sender{_whatever(found)}", _local(found)
    if rounds:
        of_all = f"a user's reports of {counted(found.limit, 'round')} together{_whatever(found)}"
        yield f"{fails}, or reports are linked", of_all, _up(found.all_local)


def _proof(found: Findings) -> str:
    """Return what proves the guarantee, and at which inputs it is attained."""
    report = found.report
    if isinstance(report, Report):
        worst = "of no importance" if report.worst_pair is None else str(report.worst_pair)
        proof = _PROOFS[report.bound]
        return f"By {proof}. The worst inputs are {worst} ({report.pairs})"
    best = found.setting.bound == "best"
    return (
        "What one round reveals is bounded at every epsilon by the "
        f"{'smallest bound that is established' if best else _PROOFS['blanket'][4:]}, and the laws "
        "of privacy loss that have these bounds are composed over all rounds"
    )


def _datasets(found: Findings) -> str:
    words: str | Sequence[str] = found.report.datasets_in_words
    return words if isinstance(words, str) else "; ".join(words)


def _picture(chart: Chart) -> str:
    return base64.b64encode(picture(chart, ".svg", _PICTURE)).decode("ascii")


def _level(found: Findings) -> str:
    """Return how private one report is whose sender is known."""
    epsilon = _local(found)
    return f"ε0 = {epsilon}" if found.is_pure else f"ε = {epsilon}, δ = {_delta(found)}"


def _local(found: Findings) -> str:
    """Return the epsilon of one report whose sender is known; a level as it was given."""
    return given_or_up(found.local) if found.is_pure else _up(found.local)


def _epsilon(found: Findings) -> str:
    """Return the epsilon of the claim: as it was given, or rounded up."""
    given = found.report.target_epsilon
    return found.report.at_most if given is None else plain(given)


def _lower_bound(found: Findings) -> str:
    asked = found.report.quantity == "epsilon"
    return found.report.at_least if asked else round_down(found.lower_bound)


def _whatever(found: Findings) -> str:
    """Return what to add where a number is about more than the guarantee is."""
    return "" if found.relation.replaces_input else ", whatever changes"


def _delta(found: Findings) -> str:
    """Return the delta of the claim: as it was given, or rounded up."""
    given = found.report.target_delta
    return found.report.at_most if given is None else plain(given)


def _up(number: float) -> str:
    return round_up(number) if math.isfinite(number) else "no finite number"


def _percent(rate: float) -> str:
    """Return a rate in percent, rounded up."""
    return round_up(Decimal(rate).scaleb(2))
