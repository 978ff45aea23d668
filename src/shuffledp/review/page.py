"""The document: one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import math
import shlex
from collections.abc import Iterable, Sequence
from decimal import Decimal

from shuffledp._version import __version__
from shuffledp.accounting import Report
from shuffledp.accounting.accountant import DEFAULT_RTOL
from shuffledp.accounting.assumptions import LEVEL
from shuffledp.certification import Certificate
from shuffledp.certification.known_sums import why_unknown
from shuffledp.comparison import OURS
from shuffledp.figures import Chart, picture
from shuffledp.markup import Markup, tag
from shuffledp.review.cover import Cover
from shuffledp.review.definitions import definitions
from shuffledp.review.findings import Findings, WhatIf
from shuffledp.review.style import STYLE
from shuffledp.review.whole import Whole
from shuffledp.rounding import exp_above, exp_below, plain, round_down, round_up
from shuffledp.wording import counted, shorten

_PICTURE = (4.4, 3.3)  # inches, two of them side by side
_MAX_TEXT = 400  # characters of a mechanism, which may be a matrix


def review_page(
    report: Report,
    cover: Cover | None = None,
    certificate: Certificate | None = None,
    whole: Whole | None = None,
) -> str:
    """Return the document about one guarantee, for people who decide and do not compute.

    Args:
        report: the guarantee.
        cover: title, organisation and contact.
        certificate: a proof to be embedded.
        whole: what the reports are a part of.

    Raises:
        NoAnswerError: if the report has no finite epsilon.
        MissingExtraError: if matplotlib, which draws the pictures, is not installed.
    """
    return write_page(Findings(report), cover or Cover(), certificate, whole)


def write_page(
    found: Findings,
    cover: Cover,
    certificate: Certificate | None = None,
    whole: Whole | None = None,
) -> str:
    """Return the document about numbers that may be there already."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", cover.title),
        tag("style", Markup(STYLE)),
    )
    body = (
        _head(cover),
        *_statement(found),
        *([] if whole is None else [tag("p", str(whole))]),
        *_collected(found),
        *_assumptions(found),
        *_meaning(found),
        *_comparison(found),
        *_origin(found, certificate),
        *_definitions(found),
        tag(
            "footer",
            f"Made with shuffledp {__version__}. Guarantees are rounded up, lower bounds "
            "down. The page is complete in itself and loads nothing.",
        ),
    )
    page = tag("html", head, tag("body", tag("main", *body)), lang="en")
    return f"<!DOCTYPE html>\n{page.text}\n"


def _head(cover: Cover) -> Markup:
    lines = [cover.organisation, cover.contact and f"Contact: {cover.contact}"]
    return tag("header", tag("h1", cover.title), *(tag("p", line) for line in lines if line))


def _statement(found: Findings) -> Iterable[Markup]:
    report, epsilon = found.report, _up(found.epsilon)
    yield tag(
        "p",
        f"With {report.crowd}, each of whom runs {_text(report)} on their own device, "
        f"{found.seen.result} ({epsilon}, {_delta(found)})-differentially private. Whatever one "
        f"person holds, it makes nothing that {found.seen.shows} more than "
        f"{_factor(found.epsilon)} times as likely, plus {_delta(found)}.",
        class_="statement",
    )
    attack = (
        f"ε ≥ {round_down(found.lower_bound)}",
        "what an attack attains: no analysis can promise less",
    )
    keys = (
        (f"ε ≤ {epsilon}", f"guaranteed at δ = {_delta(found)}"),
        *([attack] if found.has_attack else []),
        (f"{_percent(found.advantage)} %", "how much better than chance anyone can guess, at most"),
        (_level(found), "what one report reveals if its sender is known"),
    )
    yield tag(
        "div", *(tag("div", tag("b", n), tag("span", text)) for n, text in keys), class_="keys"
    )


def _collected(found: Findings) -> Iterable[Markup]:
    report = found.report
    yield tag("h2", "What is collected, and who sees it")
    yield tag(
        "p",
        "Every person's device turns their data into one randomized report and sends nothing but "
        f"that. {found.seen.work} The randomizer is ",
        tag("code", _text(report)),
        f"; {LEVEL}." if found.is_pure else ".",
    )
    rows = (
        ("The person's device", "the data", "nothing leaves it but the report"),
        (f"The {found.seen.middle}", "each report, perhaps with its sender", _level(found)),
        (
            f"The analyst, and all who get {found.seen.short}",
            found.seen.given,
            f"ε = {_up(found.epsilon)}, δ = {_delta(found)}",
        ),
    )
    yield _table(("who", "sees", "protected by"), rows)


def _assumptions(found: Findings) -> Iterable[Markup]:
    report = found.report
    yield tag("h2", "What is assumed, and what holds if it fails")
    yield tag("ul", *(tag("li", fact) for fact in (*report.assumptions, *found.seen.trust)))
    rows = [("as assumed", str(report.crowd), _up(found.epsilon))]
    rows += _what_ifs("fewer users take part", found.fewer, "user")
    rows += _what_ifs("users work for the analyst", found.colluding, "user")
    rows += _what_ifs("the same users are asked again", found.repeated, "round")
    fails = f"the {found.seen.middle} fails"
    if found.shuffled is not None:
        rows += [(fails, "all reports, without order or sender", _up(found.shuffled))]
    rows += [(fails, "every report with its sender", _up(found.local))]
    yield _table(("what happens", "", f"ε at δ = {_delta(found)}"), rows, numbers=1)
    yield tag(
        "p",
        f"All of these are certified, too. {found.seen.failure} {found.seen.again}",
        class_="soft",
    )


def _what_ifs(what: str, cases: Sequence[WhatIf], noun: str) -> list[tuple[str, str, str]]:
    return [(what, counted(case.count, noun), _up(case.epsilon)) for case in cases]


def _meaning(found: Findings) -> Iterable[Markup]:
    yield tag("h2", "What the numbers mean for one person")
    right = math.nextafter((1 + found.advantage) / 2, 1.0)
    yield tag(
        "p",
        "Suppose an attacker knows the data of everybody else, and that one person holds one of "
        "two values. Guessing is right half of the time; with "
        f"{found.seen.short} at hand at most "
        f"{_percent(right)} % of the time. Whatever {found.seen.shows}, it changes the odds of the "
        f"two values by a factor between {round_down(exp_below(-found.epsilon))} and "
        f"{_factor(found.epsilon)}, but for events that δ allows for: their probability is "
        f"{_delta(found)} more than this factor explains, at most.",
    )
    rows = [(f"{plain(100 * rate)} %", f"{_percent(hit)} %") for rate, hit in found.hits]
    yield tag(
        "div",
        _picture(
            found.profile,
            "Delta at other epsilons: the guarantee, and what a concrete attack attains. The truth "
            "lies in between."
            if found.has_attack
            else "Delta at other epsilons: the guarantee.",
        ),
        _picture(
            found.tradeoff,
            "The errors of every attacker. A curve near that of guessing means that nothing can be "
            "told about one person.",
        ),
        class_="pictures",
    )
    yield _table(
        ("false alarms", "true alarms, at most"),
        rows,
        numbers=2,
        caption="Whoever raises so many false alarms about a person raises so many true ones",
    )


def _comparison(found: Findings) -> Iterable[Markup]:
    rows, unknown = [], []
    for row in found.comparison.rows:
        title, epsilon, ratio, _ = row.cells
        if row.epsilon is None:
            unknown.append(f"{title}: {row.reason}")
        else:
            rows.append((title, epsilon, ratio))
    yield tag("h2", "What published analyses say")
    if found.report.crowd.assumptions:
        yield tag("p", found.comparison.covered)
    if found.report.view == "sum":
        yield tag("p", "They are about shuffled reports; what holds for these holds for their sum.")
    yield _table(
        ("bound on ε", "ε", "to ours"),
        rows,
        numbers=2,
        marked=len([row for row in found.comparison.rows if row.bound in OURS]),
    )
    if unknown:
        yield tag("p", f"Without an answer here: {'; '.join(unknown)}.", class_="soft")


def _origin(found: Findings, certificate: Certificate | None) -> Iterable[Markup]:
    report = found.report
    proof = {
        "blanket": "the optimal decomposition (“blanket”) bound",
        "swap": "the swap bound, over all datasets that the other users may hold",
        "exact": "the exact worst case over all datasets",
        "composition": "the composition of the sums of all attributes",
    }[report.bound]
    yield tag("h2", "How the number was obtained")
    yield tag(
        "p",
        f"By {proof}. All roundings and truncations are counted to the safe side. The worst inputs "
        f"are {_where(report)} ({report.pairs}); {_attained(found)}. The same numbers come out of",
    )
    yield tag("pre", "\n".join(_commands(found)))
    if certificate is not None:
        yield tag(
            "p",
            "The certificate below proves in ball arithmetic, rounding included: "
            f"{certificate.guarantee.statement}. Saved as a file, it is checked by ",
            tag("code", "shuffledp verify FILE"),
            f". Its digest is {certificate.digest}.",
        )
        yield tag("pre", certificate.to_json(), class_="long")


def _commands(found: Findings) -> Iterable[str]:
    report = found.report
    text, users = shlex.quote(str(report.randomizer)), f"-n {report.n}"
    crowd = "".join(
        f" --{name.replace('_', '-')} {count}"
        for name in ("corrupted", "corrupted_adaptively")
        if (count := getattr(report.crowd, name))
    )
    if report.quantity == "epsilon":
        target = f"--delta {plain(report.target)}"
    else:
        target = f"--epsilon {plain(report.target)}"
    rtol = "" if report.rtol == DEFAULT_RTOL else f" --rtol {plain(report.rtol)}"
    view = "" if report.view == "multiset" else f" --view {report.view}"
    ends = f"{target} --bound {report.wanted}{view}"
    yield f"shuffledp {report.quantity} {text} {users} {ends}{rtol}{crowd}"
    yield f"shuffledp compare {text} {users} --delta {plain(found.delta)}{view}"
    provable = not view or why_unknown(report.randomizer, report.n) is None
    if provable and not crowd:  # certificates are for honest users
        yield f"shuffledp certify {text} {users} {ends}"


def _definitions(found: Findings) -> Iterable[Markup]:
    yield tag("h2", "Definitions")
    terms = definitions(found.seen)
    pairs = (tag("div", tag("dt", term), tag("dd", meaning)) for term, meaning in terms)
    yield tag("dl", *pairs)


def _picture(chart: Chart, caption: str) -> Markup:
    content = base64.b64encode(picture(chart, ".svg", _PICTURE)).decode("ascii")
    image = tag("img", src=f"data:image/svg+xml;base64,{content}", alt=caption)
    return tag("figure", image, tag("figcaption", caption))


def _table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: int = 0,
    marked: int = 0,
    caption: str | None = None,
) -> Markup:
    """Return a table; the last ``numbers`` columns hold numbers, the first rows are marked."""
    texts = len(head) - numbers

    def cells(name: str, row: Sequence[str]) -> list[Markup]:
        return [
            tag(name, cell) if i < texts else tag(name, cell, class_="number")
            for i, cell in enumerate(row)
        ]

    body = (
        tag("tr", *cells("td", row), **({"class_": "ours"} if i < marked else {}))
        for i, row in enumerate(rows)
    )
    top = (tag("caption", caption),) if caption else ()
    return tag("table", *top, tag("thead", tag("tr", *cells("th", head))), tag("tbody", *body))


def _text(report: Report) -> str:
    return shorten(str(report.randomizer), _MAX_TEXT)


def _attained(found: Findings) -> str:
    if not found.has_attack:
        return "no lower bound is known"
    return f"the lower bound is attained by {found.report.datasets_in_words}"


def _where(report: Report) -> str:
    return "of no importance" if report.worst_pair is None else str(report.worst_pair)


def _level(found: Findings) -> str:
    """Return how private one report is whose sender is known."""
    epsilon = _up(found.local)
    return f"ε0 = {epsilon}" if found.is_pure else f"ε = {epsilon}, δ = {_delta(found)}"


def _delta(found: Findings) -> str:
    """Return the delta of the claim: as it was given, or rounded up."""
    given = found.report.target_delta
    return round_up(found.report.decimal_guarantee) if given is None else plain(given)


def _up(number: float) -> str:
    return round_up(number) if math.isfinite(number) else "no finite number"


def _percent(rate: float) -> str:
    """Return a rate in percent, rounded up."""
    return round_up(Decimal(rate).scaleb(2))


def _factor(epsilon: float) -> str:
    return round_up(exp_above(epsilon))
