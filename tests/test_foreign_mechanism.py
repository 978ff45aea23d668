"""A mechanism that the package does not know goes through every command and every function."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp
from shuffledp import KRR, LocalRandomizer, MatrixRandomizer, NoAnswerError, Pair, register
from shuffledp.certificates.derivation import blanket
from shuffledp.cli import main
from shuffledp.deployment.files.sidecar import read_sidecar, sidecar_path
from shuffledp.mechanisms import Integers, text

PAGE = Path(__file__).parent.parent / "docs" / "new-mechanism.md"


def plane_of_the_page() -> type[LocalRandomizer]:
    """The class that docs/new-mechanism.md shows."""
    code = re.search(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": __name__}
    exec(compile(code.group(1), str(PAGE), "exec", dont_inherit=True), names)  # noqa: S102
    return names["ProjectivePlane"]


Plane = plane_of_the_page()


@dataclass(frozen=True, repr=False)
class SevenLines(Plane):
    """The plane of order 2, which can run."""

    name: ClassVar[str] = "seven_lines"
    example: ClassVar[str | None] = "seven_lines(epsilon0=2.0)"
    order: int = dataclasses.field(default=2, init=False)

    report_dtype = np.dtype(np.uint8)

    def supports(self, reports, value):
        return np.isin((value - reports.astype(int)) % 7, (0, 1, 3))

    def draw(self, values, bits):
        rows = [[0.0] * 7 for _ in range(7)]
        high, low = float(self.ratio), 1.0
        for x in range(7):
            for y in range(7):
                rows[x][y] = (high if (x - y) % 7 in (0, 1, 3) else low) / (3 * high + 4)
        return MatrixRandomizer(rows).draw(values, bits)


@dataclass(frozen=True, repr=False)
class Disguised(LocalRandomizer):
    """Binary randomized response that belongs to no family, and cannot run."""

    name: ClassVar[str] = "disguised"
    epsilon0: float
    input_domain = Integers(2)

    @property
    def _inner(self):
        return KRR(2, self.epsilon0)

    def neighbours(self) -> Sequence[Pair]:
        return self._inner.neighbours()

    def unchanged(self) -> Sequence[Pair]:
        return self._inner.unchanged()

    def decomposition(self, pair, other=None):
        return self._inner.decomposition(pair, other)

    def common_inputs(self, pair):
        return self._inner.common_inputs(pair)

    def accepts(self, other):
        return self._inner.accepts(other)


FOREIGN = {
    "plane(order=2, epsilon0=2.0)": Plane,
    "seven_lines(epsilon0=2.0)": SevenLines,
    "disguised(epsilon0=2.0)": Disguised,
}


@pytest.fixture(autouse=True)
def registered():
    """Register all for one test; afterwards they are unknown again."""
    for mechanism in FOREIGN.values():
        register(mechanism)
    yield
    for mechanism in FOREIGN.values():
        del text._mechanisms[mechanism.name]


def certificate_of(mechanism: str) -> str:
    """A certificate that claims to be about a mechanism."""
    real = shuffledp.certify("krr(k=2, epsilon0=2)", n=10, target_delta=0.01)
    forged = dataclasses.replace(real, mechanism=mechanism, digest="")
    return dataclasses.replace(forged, digest=forged.computed_digest()).to_json()


def write_files(mechanism: str, folder: Path) -> None:
    """What the commands read: data, reports with their sidecar, and a certificate."""
    (folder / "data.csv").write_text("value\n" + "0\n1\n" * 20)
    main_arguments = "--column value --mechanism krr(k=2,epsilon0=2) --delta 0.01 --out reports.csv"
    CliRunner().invoke(main, ["randomize", "data.csv", *main_arguments.split()])
    sidecar = dataclasses.replace(read_sidecar(Path("reports.csv")), mechanism=mechanism)
    sidecar_path(folder / "reports.csv").write_text(sidecar.to_json())
    (folder / "certificate.json").write_text(certificate_of(mechanism))


#: How each command meets a mechanism; None for those that take none.
COMMANDS: dict[str, str | None] = {
    "epsilon": "MECHANISM -n 100 --delta 1e-3",
    "delta": "MECHANISM -n 100 --epsilon 0.5",
    "calibrate": "FAMILY -n 100 --epsilon 0.5 --delta 1e-3",
    "users": "MECHANISM --epsilon 0.5 --delta 1e-3",
    "rounds": "MECHANISM -n 100 --times 2 --delta 1e-3 --rtol 0.1",
    "tiers": "--group MECHANISM=50 --group MECHANISM=60 --delta 1e-3",
    "ledger": "add spent.jsonl MECHANISM -n 100",
    "compare": "MECHANISM -n 100 --delta 1e-3",
    "curve": "MECHANISM --delta 1e-3 --from 100 --to 200 --points 2 --bound all",
    "certify": "MECHANISM -n 100 --delta 1e-3",
    "verify": "certificate.json",
    "audit": "MECHANISM -n 10 --delta 0.01 --trials 100 --seed 1",
    "randomize": "data.csv --column value --mechanism MECHANISM --delta 0.01 --out new.csv",
    "estimate": "reports.csv",
    "mechanisms": "",
    "report": "MECHANISM -n 100 --delta 1e-3",
    "messages": None,
    "plan": None,
    "explore": None,
}

#: The commands without an answer, and what they say.
REFUSALS = {
    "certify": "exact law is not known to the prover",
    "verify": "exact law is not known to the prover",
    "audit": "cannot run",
    "randomize": "cannot run|can run, got",
    "estimate": "cannot run|can run, got",
}


def test_every_command_is_tried():
    assert set(COMMANDS) == set(main.commands)
    for name, line in COMMANDS.items():
        if line is None:
            assert "mechanism" not in {option.name for option in main.commands[name].params}


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("mechanism", FOREIGN)
@pytest.mark.parametrize("command", [name for name, line in COMMANDS.items() if line is not None])
def test_commands(command, mechanism, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if command == "ledger":
        shuffledp.Ledger.create("spent.jsonl", epsilon=10, delta=1e-3)
    if command in ("verify", "estimate", "randomize"):
        write_files(mechanism, tmp_path)
    family = re.sub(r"(, )?epsilon0=2.0", "", mechanism)
    arguments = [
        word.replace("MECHANISM", mechanism).replace("FAMILY", family)
        for word in COMMANDS[command].split()
    ]
    result = CliRunner().invoke(main, [command, *arguments])
    runs = mechanism.startswith("seven_lines") and command not in ("certify", "verify")
    if command in REFUSALS and not runs:
        assert result.exit_code in (1, 2), result.output
        assert re.search(REFUSALS[command], " ".join(result.stderr.split()))
        assert mechanism in " ".join(result.stderr.split())
    else:
        assert result.exit_code == 0, result.output


def answer(mechanism: str) -> dict[str, Callable[[], object]]:
    """How each public function meets a mechanism."""
    one = shuffledp.parse(mechanism)
    parts = {one: 0.5, KRR(int(one.input_domain.size), 1.0): 0.5}
    family = re.sub(r"(, )?epsilon0=2.0", "", mechanism)
    goal = {"target_epsilon": 0.5, "target_delta": 1e-3}

    def delta(randomizer: LocalRandomizer) -> float:
        return shuffledp.ShuffleAccountant(randomizer, 50).get_delta(1.0)

    def counted() -> shuffledp.Aggregator:
        aggregator = shuffledp.Aggregator(one)
        aggregator.add(np.zeros(4, dtype=np.uint8))
        return aggregator

    return {
        "parse": lambda: shuffledp.parse(str(one)),
        "audit": lambda: shuffledp.audit(one, n=10, target_delta=0.01, trials=100),
        "calibrate_epsilon0": lambda: shuffledp.calibrate_epsilon0(family, n=100, **goal),
        "certify": lambda: shuffledp.certify(one, n=100, target_delta=1e-3),
        "compare": lambda: str(shuffledp.compare(one, n=100, target_delta=1e-3)),
        "curve": lambda: shuffledp.curve(one, x=[100, 200], target_delta=1e-3),
        "calibrate_tiers": lambda: shuffledp.calibrate_tiers(
            [shuffledp.OpenGroup(family, 100)], **goal
        ),
        "estimate_tiers": lambda: shuffledp.estimate_tiers([counted()]),
        "estimate_pooled": lambda: shuffledp.estimate_pooled(
            [(one, 4)], np.zeros(4, dtype=np.uint8)
        ),
        "max_rounds": lambda: shuffledp.max_rounds(
            shuffledp.ShuffleAccountant(one, 100), target_epsilon=3.0, target_delta=1e-3, rtol=0.1
        ),
        "joint": lambda: delta(shuffledp.joint(one, one)),
        "one_of": lambda: delta(shuffledp.one_of(parts)),
        "parallel": lambda: delta(shuffledp.parallel(parts)),
        "subsample": lambda: shuffledp.certify(shuffledp.subsample(one, 0.5), 10, target_delta=0.1),
        "required_users": lambda: shuffledp.required_users(one, **goal),
        "shuffle": lambda: shuffledp.shuffle(one.randomize([0, 1, 1])),
        "simulate": lambda: shuffledp.simulate(one, [0, 1] * 20, repetitions=2),
        "Aggregator": lambda: shuffledp.Aggregator(one).add(np.zeros(4, dtype=np.uint8)),
        "GeneralClone": lambda: shuffledp.GeneralClone.primary(one, Pair(0, 1)),
    }


def test_every_function_is_tried():
    functions = {n for n in shuffledp.__all__ if inspect.isfunction(getattr(shuffledp, n))}
    without_a_mechanism = {"corrupted_in_batch", "plan", "register", "verify"}
    tried = set(answer("plane(order=2, epsilon0=2.0)"))
    assert functions - without_a_mechanism == tried - {"Aggregator", "GeneralClone"}


@pytest.mark.parametrize("mechanism", FOREIGN)
@pytest.mark.parametrize("function", answer("krr(k=2, epsilon0=2.0)"))
def test_functions(function, mechanism):
    runs = mechanism.startswith("seven_lines")
    refused = {"certify", "subsample", "GeneralClone"}
    if not runs:
        refused |= {
            "audit",
            "shuffle",
            "simulate",
            "Aggregator",
            "estimate_tiers",
            "estimate_pooled",
        }
    ask = answer(mechanism)[function]
    if function not in refused:
        assert ask() is not NotImplemented
        return
    with pytest.raises((NoAnswerError, TypeError, ValueError)) as caught:
        ask()
    words = "MatrixRandomizer" if function == "GeneralClone" else mechanism
    assert words in str(caught.value)


def test_a_derived_class_is_not_certified_as_its_base():
    @dataclass(frozen=True, repr=False)
    class Other(KRR):
        def support_mass(self, supported, named):
            return KRR(self.k, 2 * self.epsilon0).support_mass(supported, named)

    with pytest.raises(NoAnswerError, match="exact law is not known"):
        shuffledp.certify(Other(k=3, epsilon0=1.0), n=10, target_delta=0.1)
    with pytest.raises(NoAnswerError, match="exact law is not known"):
        blanket(Other(k=3, epsilon0=1.0), Pair(0, 1))


def test_a_derived_class_is_not_accounted_as_its_base():
    """Its law is another one: binary randomized response of half the level."""

    @dataclass(frozen=True, repr=False)
    class Other(KRR):
        def decomposition(self, pair, other=None):
            return KRR(self.k, self.epsilon0 / 2).decomposition(pair, other)

    truth = shuffledp.ShuffleAccountant(KRR(k=2, epsilon0=2.0), 20)
    base = shuffledp.ShuffleAccountant(KRR(k=2, epsilon0=4.0), 20)
    other = shuffledp.ShuffleAccountant(Other(k=2, epsilon0=4.0), 20)
    for epsilon in (0.0, 0.3, 1.2):
        assert truth.delta_lower_bound(epsilon) <= other.get_delta(epsilon)
        assert other.get_delta(epsilon) < base.delta_lower_bound(epsilon)


@pytest.mark.parametrize(
    ("base", "parameters"),
    [
        (shuffledp.Laplace, {"epsilon0": 1.0, "domain": "interval"}),
        (shuffledp.DiscreteLaplace, {"epsilon0": 1.0, "bound": 3}),
    ],
)
def test_a_derived_noise_has_no_types_of_its_base(base, parameters):
    derived = type("Derived", (base,), {})(**parameters)
    pair = derived.neighbours()[0]
    assert base(**parameters).slot_laws(pair) is not None
    assert derived.slot_laws(pair) is None


def test_a_mechanism_without_neighbours_is_not_certified_unseen():
    @dataclass(frozen=True, repr=False)
    class Silent(Disguised):
        def neighbours(self):
            return ()

    with pytest.raises(NoAnswerError, match="exact law is not known"):
        shuffledp.certify(Silent(epsilon0=1.0), n=10, target_delta=0.1)
