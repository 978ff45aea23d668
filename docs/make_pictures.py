"""Draw the pictures of the pages: ``python docs/make_pictures.py [NAME ...]``.

Charts are computed with shuffledp and drawn with matplotlib (the extra ``plot``); diagrams are
written as SVG directly. Colours are those of Okabe and Ito 2008, which the colour-blind can tell
apart, and nothing is said by colour alone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from layers import LAYERS, PURPOSE

from shuffledp import KRR, Group, Laplace, MixedAccountant, ShuffleAccountant
from shuffledp.accounting.limit import limiting_epsilon
from shuffledp.accounting.rounds.one_round import bound_profile
from shuffledp.basics.figures import draw
from shuffledp.bounds.rounds.profile import Fineness
from shuffledp.comparison.published import BASELINES
from shuffledp.planning import error_chart
from shuffledp.planning.frequency_task import Frequency

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).with_name("pictures")

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, GREY, INK = "#56B4E9", "#E69F00", "#6b6b6b", "#1a1a1a"


class Diagram:
    """Boxes, texts and arrows, written as SVG."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size, self._title = (width, height), title
        self._items: list[str] = []

    def box(
        self, x: float, y: float, w: float, h: float, *, fill: str = "#ffffff", line: str = INK
    ) -> None:
        """Add a rectangle with round corners."""
        self._items.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="6" fill="{fill}" '
            f'stroke="{line}" stroke-width="1.5"/>'
        )

    def text(
        self, x: float, y: float, text: str, *, size: int = 14, fill: str = INK, **more: str
    ) -> None:
        """Add a text centred at x; ``anchor`` and ``weight`` change how."""
        anchor, weight = more.get("anchor", "middle"), more.get("weight", "normal")
        self._items.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
        )

    def arrow(
        self, start: tuple[float, float], stop: tuple[float, float], colour: str = INK
    ) -> None:
        """Add a line with a head at its end."""
        (x1, y1), (x2, y2) = start, stop
        length = math.hypot(x2 - x1, y2 - y1)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - 9 * ux, y2 - 9 * uy
        head = f"{x2:g},{y2:g} {bx - 4 * uy:g},{by + 4 * ux:g} {bx + 4 * uy:g},{by - 4 * ux:g}"
        self._items.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{bx:g}" y2="{by:g}" stroke="{colour}" '
            f'stroke-width="1.5"/><polygon points="{head}" fill="{colour}"/>'
        )

    def save(self, path: Path) -> None:
        """Write the file."""
        width, height = self._size
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'font-family="DejaVu Sans, Verdana, sans-serif">',
            f"<title>{escape(self._title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *self._items,
            "</svg>",
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shuffle_model(path: Path) -> None:
    """Users randomize, the shuffler forgets who sent what, the analyst sees the rest."""
    picture = Diagram(760, 330, "Users randomize, a shuffler mixes, an analyst counts")
    heads = ("users", "local randomizer R", "shuffler", "analyst")
    for x, head in zip((60, 215, 420, 640), heads, strict=True):
        picture.text(x, 28, head, weight="bold")
    rows = (("you: 3", "7", ORANGE), ("3", "3", BLUE), ("5", "5", BLUE), ("3", "3", BLUE))
    heights = (70, 130, 190, 250)
    order = (2, 0, 3, 1)
    picture.box(365, 48, 110, 244, fill="#f2f2f2")
    for place, ((held, report, colour), y) in enumerate(zip(rows, heights, strict=True)):
        picture.box(20, y - 20, 80, 40, line=colour)
        picture.text(60, y + 5, held, fill=colour)
        picture.arrow((100, y), (165, y), colour)
        picture.box(165, y - 20, 100, 40, line=colour)
        picture.text(215, y + 5, f"reports {report}", fill=colour)
        picture.arrow((265, y), (365, y), colour)
        picture.arrow((367, y), (473, heights[order[place]]), GREY)
    picture.arrow((475, 170), (555, 170))
    picture.box(555, 68, 180, 204, fill="#f2f2f2")
    picture.text(645, 95, "a histogram", weight="bold")
    for row, (value, count) in enumerate(((3, 2), (5, 1), (7, 1))):
        y = 135 + 40 * row
        picture.text(600, y + 5, f"{value}:", anchor="end")
        picture.box(612, y - 9, 36 * count, 18, fill=SKY, line=SKY)
        picture.text(620 + 36 * count, y + 5, str(count), anchor="start")
    picture.text(215, 318, "epsilon0: what one report reveals", size=13, fill=GREY)
    picture.text(620, 318, "epsilon: what the histogram reveals", size=13, fill=GREY)
    picture.save(path)


def layers(path: Path) -> None:
    """Draw the layers, lowest at the bottom."""
    row, gap, left, width = 50, 16, 20, 1040
    picture = Diagram(width + 2 * left, len(LAYERS) * (row + gap) + 30, "The layers of shuffledp")
    fills = ("#e8f3fa", "#ffffff")
    for rank, names in enumerate(LAYERS):
        y = 14 + (len(LAYERS) - 1 - rank) * (row + gap)
        w = (width - gap * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            x = left + place * (w + gap)
            picture.box(x, y, w, row, fill=fills[rank % 2], line=BLUE)
            picture.text(x + w / 2, y + 21, name, weight="bold")
            picture.text(x + w / 2, y + 40, PURPOSE[name], size=12, fill=GREY)
        if rank:
            picture.arrow((left + width / 2, y + row), (left + width / 2, y + row + gap), GREY)
    bottom = 14 + len(LAYERS) * (row + gap)
    picture.text(left + width / 2, bottom + 4, "an arrow means: may import", size=12, fill=GREY)
    picture.save(path)


def _figure(columns: int = 1, height: float = 3.4) -> tuple[Any, list[Axes]]:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "shuffledp",
            "svg.fonttype": "path",
        }
    )
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(8.0, height), layout="constrained")
    return figure, list(np.atleast_1d(axes))


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def blanket(path: Path) -> None:
    """What all inputs have in common, for a finite and for a continuous mechanism."""
    figure, (left, right) = _figure(2)
    level, k = 1.5, 4
    low = 1 / (math.exp(level) + k - 1)
    laws = np.full((2, k), low)
    laws[0, 0] = laws[1, 1] = math.exp(level) * low
    places = np.arange(k)
    left.bar(places - 0.2, laws[0], 0.38, color="#cfe6f3", edgecolor=BLUE)
    left.bar(places + 0.2, laws[1], 0.38, color="white", edgecolor=ORANGE, ls="--")
    left.fill_between([-0.5, k - 0.5], 0, low, color=GREY, alpha=0.45, lw=0)
    left.text(1.55, 0.6, "hold 0 (filled)", color=BLUE)
    left.text(1.55, 0.55, "hold 1 (dashed)", color=ORANGE)
    left.text(2.5, low + 0.015, "blanket", color=INK, ha="center")
    left.set(title="randomized response, 4 values", xlabel="report", ylabel="probability")
    left.set(xticks=places, ylim=(0, 0.65))
    y = np.linspace(-2, 3, 601)
    first, second = (level / 2 * np.exp(-level * abs(y - x)) for x in (0, 1))
    right.plot(y, first, color=BLUE)
    right.plot(y, second, color=ORANGE, ls="--")
    right.fill_between(y, np.minimum(first, second), color=GREY, alpha=0.45, lw=0)
    right.text(-0.1, 0.72, "hold 0", color=BLUE, ha="right")
    right.text(1.1, 0.72, "hold 1 (dashed)", color=ORANGE)
    right.text(0.5, 0.15, "blanket", color=INK, ha="center")
    right.set(title="Laplace noise on [0, 1]", xlabel="report", ylabel="density", ylim=(0, 0.85))
    _save(figure, path)


def gparv(path: Path) -> None:
    """The atoms of G, and how the mean of many copies leaves the positive side."""
    figure, (left, right) = _figure(2)
    epsilon, mechanism = 0.4, KRR(k=10, epsilon0=2.0)
    decomposition = mechanism.decomposition(mechanism.neighbours()[0])
    law = decomposition.at(epsilon).lower
    values, masses = law.values, law.masses
    colours = [ORANGE if value > 0 else BLUE for value in values]
    left.vlines(values, 0, masses, colors=colours, lw=4)
    for value, mass in zip(values, masses, strict=True):
        side = {"ha": "left"} if value == 0 else {"ha": "right" if -1 < value < 0 else "center"}
        left.text(value, mass + 0.015, f"{value:.2f}", fontsize=9, **side)
    left.axvline(0, color=GREY, lw=0.8)
    left.set(title="one copy of G", xlabel="value", ylabel="probability")
    left.set(ylim=(0, 0.55), xlim=(-13, 9))
    rng = np.random.default_rng(1)
    edges = np.linspace(-2.5, 1.5, 161)
    centres = (edges[1:] + edges[:-1]) / 2
    for n, colour, dashes in ((30, BLUE, ":"), (100, GREEN, "--"), (1000, INK, "-")):
        means = rng.multinomial(n, masses / masses.sum(), 400_000) @ values / n
        height = np.histogram(means, edges, density=True)[0]
        height = np.convolve(height, np.hanning(13) / np.hanning(13).sum(), mode="same")
        right.plot(centres, height, color=colour, ls=dashes)
        right.fill_between(centres, height, where=centres > 0, color=ORANGE, alpha=0.5, lw=0)
        top = int(np.argmax(height))
        right.text(-1.0, height[top] + 0.1, f"n = {n}", color=colour, ha="right")
    right.axvline(0, color=GREY, lw=0.8)
    right.text(0.2, 0.75, "the mean of this\npart is delta", color=ORANGE)
    right.set(title="mean of n copies", xlabel="value", ylabel="density", ylim=(0, None))
    _save(figure, path)


def bounds(path: Path) -> None:
    """Guarantee, lower bound and older analyses against the number of users."""
    figure, (axes,) = _figure(height=3.9)
    users = [round(10**e) for e in np.linspace(3.4, 6, 14)]
    mechanism, delta = Laplace(epsilon0=2.0), 1e-6
    asked = [ShuffleAccountant(mechanism, n) for n in users]
    upper = [a.get_epsilon(delta) for a in asked]
    lower = [a.epsilon_lower_bound(delta) for a in asked]
    blanket = [ShuffleAccountant(mechanism, n, bound="blanket").get_epsilon(delta) for n in users]
    axes.plot(users, upper, color=BLUE, marker="o", ms=4)
    axes.plot(users, lower, color=SKY, ls="--", lw=1)
    axes.plot(users, blanket, color=GREEN, ls=(0, (5, 1)), marker="D", ms=3)
    axes.text(users[-1] * 1.1, blanket[-1], "optimal blanket", color=GREEN, va="bottom")
    older = (("standard_clone", ORANGE, "s", ":"), ("standard_clone_closed_form", PINK, "^", "-."))
    for name, colour, marker, dashes in older:
        numbers = [BASELINES[name](mechanism, n).get_epsilon(delta) for n in users]
        axes.plot(users, numbers, color=colour, marker=marker, ls=dashes, ms=4)
        label = "standard clone" + (",\nclosed form" if "closed" in name else "")
        axes.text(users[-1] * 1.1, numbers[-1], label, color=colour, va="center")
    axes.set(xscale="log", yscale="log", xlabel="users n", ylabel="epsilon at delta = 1e-6")
    axes.set(title="Laplace noise, epsilon0 = 2", ylim=(0.003, 4))
    axes.text(users[-1] * 1.1, upper[-1], "guarantee and\nlower bound", color=BLUE, va="top")
    axes.text(2.6e3, 0.0045, "impossible: two datasets reveal more than this", color=GREY)
    _save(figure, path)


def beyond(path: Path) -> None:
    """How far the optimal blanket and the best bound are above what an attack attains."""
    figure, (axes,) = _figure(height=3.6)
    mechanisms = (
        ("krr(k=2, epsilon0=2)", "2-RR"),
        ("blh(epsilon0=2)", "BLH"),
        ("rappor(epsilon0=2)", "RAPPOR"),
        ("oue(epsilon0=2)", "OUE"),
        ("krr(k=10, epsilon0=2)", "10-RR"),
        ("laplace(epsilon0=2)", "Laplace"),
        ("discrete_laplace(epsilon0=2, bound=4)", "discrete\nLaplace"),
        ("any_pure_ldp(epsilon0=2)", "anything\n2-LDP"),
    )
    n, delta = 10_000, 1e-6
    places = np.arange(len(mechanisms))
    for bound, colour, shift, name in (
        ("blanket", ORANGE, -0.2, "optimal decomposition"),
        ("best", BLUE, 0.2, "best bound"),
    ):
        ratios = []
        for text, _ in mechanisms:
            accountant = ShuffleAccountant(text, n, bound=bound)
            ratios.append(accountant.get_epsilon(delta) / accountant.epsilon_lower_bound(delta))
        axes.bar(places + shift, ratios, 0.38, bottom=0, color=colour, label=name)
        for place, ratio in zip(places, ratios, strict=True):
            axes.text(place + shift, ratio + 0.004, f"{ratio:.3f}", ha="center", fontsize=8)
    axes.axhline(1, color=INK, lw=0.8)
    axes.set(ylim=(0.98, 1.43), ylabel="epsilon / what an attack attains")
    axes.set(title="epsilon0 = 2, 10,000 users, delta = 1e-6")
    axes.set_xticks(places, [name for _, name in mechanisms])
    axes.legend(frameon=False, loc="upper center", ncols=2)
    _save(figure, path)


def limit(path: Path) -> None:
    """The law of many users beside what is proved."""
    figure, (left, right) = _figure(columns=2, height=3.4)
    users = [round(10**e) for e in np.linspace(3, 7, 13)]
    delta = 1e-6
    for text, name, colour in (
        ("krr(k=10, epsilon0=2)", "10-RR", BLUE),
        ("blh(epsilon0=2)", "BLH", GREEN),
        ("laplace(epsilon0=2)", "Laplace noise", ORANGE),
    ):
        proved = [ShuffleAccountant(text, n).get_epsilon(delta) for n in users]
        estimated = [limiting_epsilon(text, n, delta) for n in users]
        left.plot(users, proved, color=colour, label=name)
        left.plot(users, estimated, color=INK, ls=":", lw=1)
        ratios = [p / e for p, e in zip(proved, estimated, strict=True)]
        right.plot(users, ratios, color=colour, label=name)
    left.set(xscale="log", yscale="log", xlabel="users n", ylabel="epsilon at delta = 1e-6")
    left.set(title="proved, and dotted the estimate")
    left.legend(frameon=False)
    right.axhline(1, color=INK, lw=0.8, ls=":")
    right.set(xscale="log", xlabel="users n", ylabel="proved / estimated")
    right.set(title="the estimate is on no safe side")
    _save(figure, path)


def rollout(path: Path) -> None:
    """What happens if fewer users report than planned."""
    figure, (axes,) = _figure(height=3.4)
    mechanism, delta = KRR(k=20, epsilon0=4.0), 1e-8
    users = [round(x) for x in np.geomspace(2_000, 100_000, 24)]
    numbers = [ShuffleAccountant(mechanism, n).get_epsilon(delta) for n in users]
    axes.plot(users, numbers, color=BLUE)
    axes.axhline(0.5, color=ORANGE, ls="--")
    axes.text(95_000, 0.53, "target 0.5", color=ORANGE, ha="right")
    marks = (
        (50_000, "planned: 50,000", (6, 8)),
        (15_000, "30% report: 15,000", (-70, -32)),
        (7_820, "the limit: 7,820", (6, 8)),
    )
    for n, text, shift in marks:
        value = ShuffleAccountant(mechanism, n).get_epsilon(delta)
        axes.plot([n], [value], "o", color=INK)
        axes.annotate(f"{text}\nepsilon {value:.2f}", (n, value), shift, textcoords="offset points")
    axes.set(xscale="log", xlabel="users who report", ylabel="epsilon at delta = 1e-8")
    axes.set(title="krr(k=20, epsilon0=4)", ylim=(0, 1.2), xlim=(2_000, 1e5))
    axes.set_xticks([2_000, 5_000, 10_000, 20_000, 50_000, 100_000])
    axes.set_xticklabels(["2,000", "5,000", "10,000", "20,000", "50,000", "100,000"])
    axes.minorticks_off()
    _save(figure, path)


def rounds(path: Path) -> None:
    """What many rounds cost: added up, by two older theorems, by ours, and at least."""
    figure, (axes,) = _figure(height=3.9)
    weekly, delta = ShuffleAccountant(KRR(k=10, epsilon0=2.0), 10_000), 1e-6
    times = [round(x) for x in np.geomspace(2, 1000, 19)]
    asked = [weekly.rounds(t) for t in times]
    added = [year.naive_epsilon(delta) for year in asked]
    advanced = [_advanced(weekly, t, delta) for t in times]
    renyi = [_renyi(weekly, t, delta) for t in times]
    ours = [year.get_epsilon(delta) for year in asked]
    attack = [year.epsilon_lower_bound(delta) for year in asked]
    for numbers, colour, marker, dashes, label in (
        (added, ORANGE, "s", ":", "added up"),
        (advanced, PINK, "^", "-.", "advanced\ncomposition"),
        (renyi, GREEN, "v", "--", "Rényi"),
        (ours, BLUE, "o", "-", "Rounds"),
    ):
        axes.plot(times, numbers, color=colour, marker=marker, ls=dashes, ms=4)
        lift = 1.3 if numbers is renyi else 1.0
        axes.text(times[-1] * 1.12, lift * numbers[-1], label, color=colour, va="center")
    axes.plot(times, attack, color=INK, ls="none", marker="x", ms=4)
    axes.text(times[-1] * 1.12, 0.68 * attack[-1], "datasets (x)", color=INK, va="center")
    axes.axvline(52, color=GREY, lw=0.8)
    axes.text(54, 0.09, "a year of weeks", color=GREY)
    axes.set(xscale="log", yscale="log", xlabel="rounds", ylabel="epsilon at delta = 1e-6")
    axes.set(title="krr(k=10, epsilon0=2), 10,000 users in each round")
    _save(figure, path)


def planning(path: Path) -> None:
    """How the error of every mechanism falls with epsilon."""
    task = Frequency(n=10_000, domain_size=30)
    draw(error_chart(task, (0.025, 0.05, 0.1, 0.2, 0.4, 0.8), 1e-6), path)


def _advanced(weekly: ShuffleAccountant, times: int, delta: float) -> float:
    """Return the epsilon of advanced composition, half of delta for the theorem itself."""
    one = weekly.get_epsilon(delta / (2 * times))
    return one * math.sqrt(2 * times * math.log(2 / delta)) + times * one * math.expm1(one)


def _renyi(weekly: ShuffleAccountant, times: int, delta: float) -> float:
    """Return the epsilon that the Renyi divergences of the upper loss law give, about."""
    profile = bound_profile(weekly.randomizer, weekly.crowd, "blanket", "multiset", 1e-3)
    law = profile.law("upper", Fineness(1, 0))
    finite = law.finite("upper")
    orders = np.geomspace(1.05, 500, 300)
    moments = [math.log(finite.weights @ np.exp((a - 1) * finite.values)) for a in orders]
    return min(
        (times * moment + math.log(1 / delta) - math.log(a)) / (a - 1) + math.log1p(-1 / a)
        for a, moment in zip(orders, moments, strict=True)
    )


def reduction_delta(k: int, epsilon0: float, n: int, epsilon: float) -> float:
    """Return what the variation-ratio reduction says of k-RR; comparison.md explains it.

    >>> 1e-11 > reduction_delta(100, 8.0, 30, 7.812) > 9e-12
    True
    """
    E = math.exp(epsilon0)
    low = 1 / (E + k - 1)
    first: dict[tuple[int, int], float] = {}
    second: dict[tuple[int, int], float] = {}
    for clones in range(n):
        weight = math.comb(n - 1, clones) * (2 * low) ** clones * (1 - 2 * low) ** (n - 1 - clones)
        for zeros in range(clones + 1):
            mass = weight * math.comb(clones, zeros) / 2**clones
            for i, j, p, q in ((1, 0, E, 1.0), (0, 1, 1.0, E), (0, 0, k - 2.0, k - 2.0)):
                seen = (zeros + i, clones - zeros + j)
                first[seen] = first.get(seen, 0.0) + mass * p * low
                second[seen] = second.get(seen, 0.0) + mass * q * low
    return sum(max(first[seen] - math.exp(epsilon) * second[seen], 0.0) for seen in first)


def overclaim(path: Path) -> None:
    """What a flawed reduction claims, beside what one histogram shows."""
    figure, (axes,) = _figure(height=3.6)
    k, level, n = 100, 8.0, 30
    epsilons = np.linspace(7, 7.97, 98)
    claimed = [reduction_delta(k, level, n, e) for e in epsilons]
    E = math.exp(level)
    truth = [(E / (E + k - 1)) ** (n - 1) * (E - math.exp(e)) / (E + k - 1) for e in epsilons]
    axes.plot(epsilons, truth, color=BLUE)
    axes.plot(epsilons, claimed, color=ORANGE, ls="--")
    axes.fill_between(epsilons, claimed, truth, color=GREY, alpha=0.15, lw=0)
    axes.text(7.45, 0.5, "what one histogram reveals", color=BLUE)
    axes.text(7.45, 1e-9, "what the reduction claims\n(dashed)", color=ORANGE)
    axes.set(yscale="log", xlabel="epsilon", ylabel="delta", ylim=(1e-13, 10), xlim=(7, 8))
    axes.set(title="100-ary randomized response, epsilon0 = 8, 30 users")
    _save(figure, path)


def sums(path: Path) -> None:
    """How much less the sum reveals than the multiset, against the local level."""
    figure, (axes,) = _figure(height=3.6)
    levels, n, delta = np.linspace(0.5, 6, 12), 10_000, 1e-6
    for name, colour, marker, dashes, side in (
        ("laplace", BLUE, "o", "-", "top"),
        ("rappor", ORANGE, "s", ":", "bottom"),
        ("oue", GREEN, "D", (0, (5, 1)), "center"),
        ("krr", GREY, "", "--", "center"),
    ):
        gains = []
        for level in levels:
            text = f"{name}({'k=10, ' if name == 'krr' else ''}epsilon0={level})"
            multiset, alone = (ShuffleAccountant(text, n, view=v) for v in ("multiset", "sum"))
            gains.append(multiset.get_epsilon(delta) / alone.get_epsilon(delta))
        axes.plot(levels, gains, color=colour, marker=marker, ls=dashes, ms=4)
        axes.text(levels[-1] + 0.1, gains[-1], name, color=colour, va=side)
    axes.set(xlabel="local level epsilon0", ylabel="epsilon of multiset / of sum", yscale="log")
    axes.set_yticks([1, 2, 4], ["1", "2", "4"])
    axes.minorticks_off()
    axes.set(title="10,000 users, delta = 1e-6", xlim=(0.3, 6.9))
    _save(figure, path)


def tiers(path: Path) -> None:
    """What mixing with careful users is worth, against their share."""
    figure, (axes,) = _figure(height=3.6)
    n, delta, shares = 1000, 1e-6, np.linspace(0.1, 0.9, 9)
    mixed: dict[int, list[float]] = {1: [], 4: []}
    alone: dict[int, list[float]] = {1: [], 4: []}
    for share in shares:
        sizes = {1: round(share * n), 4: n - round(share * n)}
        groups = [Group(KRR(k=10, epsilon0=float(level)), sizes[level]) for level in (1, 4)]
        found = MixedAccountant(groups, rtol=0.01).epsilons(delta)
        for level, epsilon, group in zip((1, 4), found, groups, strict=True):
            mixed[level].append(epsilon)
            alone[level].append(ShuffleAccountant(group.randomizer, group.n).get_epsilon(delta))
    for level, colour, marker in ((4, ORANGE, "s"), (1, BLUE, "o")):
        axes.plot(shares, alone[level], color=colour, ls="--", marker=marker, mfc="white", ms=4)
        axes.plot(shares, mixed[level], color=colour, marker=marker, ms=4)
        axes.text(0.92, alone[level][-1], f"level {level}, own tier", color=colour, va="bottom")
        axes.text(0.92, mixed[level][-1], f"level {level}, mixed", color=colour, va="top")
    axes.set(xlabel="share of users of level 1", ylabel="epsilon", yscale="log", xlim=(0.05, 1.2))
    axes.set(title="1,000 users of 10-RR, delta = 1e-6")
    axes.set_xticks([0.1, 0.3, 0.5, 0.7, 0.9])
    axes.set_yticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
    axes.minorticks_off()
    _save(figure, path)


def collusion(path: Path) -> None:
    """What corrupted users cost the others."""
    figure, (axes,) = _figure(height=3.6)
    n, delta, shares = 10_000, 1e-6, np.array([0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    for name, words, colour, marker, dashes in (
        ("corrupted_adaptively", "chosen after the fact", ORANGE, "s", "--"),
        ("corrupted", "fixed in advance", BLUE, "o", "-"),
    ):
        epsilons = [
            ShuffleAccountant(KRR(k=10, epsilon0=2.0), n, **{name: round(share * n)}).get_epsilon(
                delta
            )
            for share in shares
        ]
        axes.plot(shares, epsilons, color=colour, marker=marker, ls=dashes, ms=4)
        axes.text(shares[-1] + 0.006, epsilons[-1], words, color=colour, va="center")
    axes.set(xlabel="share of corrupted users", ylabel="epsilon of the others", xlim=(-0.01, 0.42))
    axes.set(title="10,000 users of krr(k=10, epsilon0=2), delta = 1e-6", ylim=(0, None))
    axes.set_xticks([0, 0.1, 0.2, 0.3])
    _save(figure, path)


PICTURES: dict[str, Callable[[Path], None]] = {
    "shuffle-model": shuffle_model,
    "blanket": blanket,
    "gparv": gparv,
    "bounds": bounds,
    "beyond": beyond,
    "limit": limit,
    "rollout": rollout,
    "rounds": rounds,
    "sums": sums,
    "tiers": tiers,
    "collusion": collusion,
    "planning": planning,
    "overclaim": overclaim,
    "layers": layers,
}


def main(names: Sequence[str]) -> int:
    """Draw the named pictures, or all."""
    if unknown := set(names) - set(PICTURES):
        raise SystemExit(f"no such picture: {', '.join(sorted(unknown))}")
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        PICTURES[name](FOLDER / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
