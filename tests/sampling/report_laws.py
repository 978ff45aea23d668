"""The exact law of whole reports, from the definitions and the sampler's own probabilities.

A law lists the inputs and, for each possible report as bytes, its probability under every input.
Probabilities of single decisions are the first 256 binary digits that the sampler compares with
random bits; everything else is uniform and counted here, output by output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from shuffledp.mechanisms import (
    KRR,
    HadamardResponse,
    Input,
    Joint,
    LocalRandomizer,
    MatrixRandomizer,
    OneOf,
    Parallel,
    Subsample,
    SubsetSelection,
)
from shuffledp.mechanisms.sampling import Probability
from shuffledp.mechanisms.sampling.hashing import AllFunctions
from shuffledp.mechanisms.sampling.layout import unsigned
from shuffledp.mechanisms.support.local_hash import _LocalHash
from shuffledp.mechanisms.support.unary import _Unary

DIGITS = 256


@dataclass(frozen=True)
class ReportLaw:
    inputs: list[Input]
    reports: dict[bytes, list[Fraction]]


def exact(probability: Probability) -> Fraction:
    return Fraction(probability.scaled(DIGITS), 1 << DIGITS)


def report_law(r: LocalRandomizer) -> ReportLaw:
    """The law of a mechanism with few outputs."""
    if isinstance(r, Joint):
        return _joint(r)
    if isinstance(r, Parallel):
        return _parallel(r)
    if isinstance(r, OneOf):
        return _one_of(r)
    if isinstance(r, Subsample):
        return _subsample(r)
    if isinstance(r, MatrixRandomizer):
        rows = [[Fraction(p) for p in row] for row in r.matrix.tolist()]
        columns = zip(*([p / sum(row) for p in row] for row in rows), strict=True)
        law = {_number(r, y): list(column) for y, column in enumerate(columns)}
        return ReportLaw(list(range(len(rows))), law)
    outputs = next(make for kind, make in _SUPPORT.items() if isinstance(r, kind))(r)
    return ReportLaw(list(range(r.inputs)), outputs)


def _number(r: LocalRandomizer, y: int) -> bytes:
    return np.array([y], dtype=r.report_dtype).tobytes()


def _krr(r: KRR) -> dict[bytes, list[Fraction]]:
    truth = exact(r.truth_probability)
    return {
        _number(r, y): [truth if x == y else (1 - truth) / (r.k - 1) for x in range(r.k)]
        for y in range(r.k)
    }


def _hadamard(r: HadamardResponse) -> dict[bytes, list[Fraction]]:
    truth, half = exact(r.truth_probability), r.outputs // 2
    return {
        _number(r, y): [
            (1 - truth if (y & x).bit_count() % 2 else truth) / half
            for x in range(1, r.domain_size + 1)
        ]
        for y in range(r.outputs)
    }


def _subset(r: SubsetSelection) -> dict[bytes, list[Fraction]]:
    truth, size, domain = exact(r.truth_probability), r.subset_size, r.domain_size
    held = truth / math.comb(domain - 1, size - 1)
    missed = (1 - truth) / math.comb(domain - 1, size)
    law = {}
    for members in combinations(range(domain), size):
        if r.report_dtype.itemsize == -(-domain // 8):
            key = sum(1 << i for i in members).to_bytes(r.report_dtype.itemsize, "little")
        else:
            key = np.array(members, dtype=unsigned(domain)).tobytes()
        law[key] = [held if x in members else missed for x in range(domain)]
    return law


def _unary(r: _Unary) -> dict[bytes, list[Fraction]]:
    true, other = (exact(p) for p in r.one_probabilities)
    law = {}
    for bits in product((0, 1), repeat=r.domain_size):
        number = sum(bit << i for i, bit in enumerate(bits))
        law[number.to_bytes(r.report_dtype.itemsize, "little")] = [
            math.prod(
                (p if bit else 1 - p)
                for i, bit in enumerate(bits)
                for p in [true if i == x else other]
            )
            for x in range(r.domain_size)
        ]
    return law


def _local_hash(r: _LocalHash) -> dict[bytes, list[Fraction]]:
    family, g, domain = r.hash_family, r.hash_buckets, r.domain_size
    assert isinstance(family, AllFunctions)
    assert family.words == 1
    truth = exact(KRR(k=g, epsilon0=r.epsilon0).truth_probability)
    law = {}
    for number in range(g**domain):
        values = [number // g**x % g for x in range(domain)]
        for y in range(g):
            report = np.array([((number,), y)], dtype=r.report_dtype)
            law[report.tobytes()] = [
                (truth if value == y else (1 - truth) / (g - 1)) / g**domain for value in values
            ]
    return law


_SUPPORT = {
    KRR: _krr,
    HadamardResponse: _hadamard,
    SubsetSelection: _subset,
    _Unary: _unary,
    _LocalHash: _local_hash,
}


def _joint(r: Joint) -> ReportLaw:
    parts = [report_law(part) for part in r.parts]
    law = {}
    for reports in product(*(part.reports.items() for part in parts)):
        rows = [row for _, row in reports]
        law[b"".join(key for key, _ in reports)] = [math.prod(ps) for ps in product(*rows)]
    return ReportLaw(list(product(*(part.inputs for part in parts))), law)


def _parallel(r: Parallel) -> ReportLaw:
    parts = [report_law(part) for part in r.parts]
    weights = [Fraction(w) for w in r.weights]
    length = r.report_dtype["report"].itemsize
    law = {
        bytes([i]) + key.ljust(length, b"\0"): [weight / sum(weights) * p for p in row]
        for i, (weight, part) in enumerate(zip(weights, parts, strict=True))
        for key, row in part.reports.items()
    }
    return ReportLaw(parts[0].inputs, law)


def _one_of(r: OneOf) -> ReportLaw:
    parts = [report_law(part) for part in r.parts]
    inputs = list(product(*(part.inputs for part in parts)))
    weights = [Fraction(w) for w in r.weights]
    length = r.report_dtype["report"].itemsize
    law = {
        bytes([i]) + key.ljust(length, b"\0"): [
            weight / sum(weights) * row[part.inputs.index(x[i])] for x in inputs
        ]
        for i, (weight, part) in enumerate(zip(weights, parts, strict=True))
        for key, row in part.reports.items()
    }
    return ReportLaw(inputs, law)


def _subsample(r: Subsample) -> ReportLaw:
    part, rate = report_law(r.part), Fraction(r.rate)
    law = {b"\1" + key: [rate * p for p in row] for key, row in part.reports.items()}
    if rate < 1:
        law[bytes(r.report_dtype.itemsize)] = [1 - rate] * len(part.inputs)
    return ReportLaw(part.inputs, law)
