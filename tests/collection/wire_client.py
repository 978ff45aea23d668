"""A reader of reports as docs/wire.md describes them, with nothing of the library.

It stands for a client in another language: plain integers and bytes.
"""

from __future__ import annotations

from collections.abc import Callable

SMALL, LARGE = 2**31 - 1, 2**61 - 1


class Reader:
    """Bytes that are read from the front."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def take(self, count: int) -> bytes:
        taken, self.raw = self.raw[:count], self.raw[count:]
        assert len(taken) == count
        return taken

    def integer(self, bound: int) -> int:
        """An integer below a bound, in the fewest bytes."""
        size = next(size for size in (1, 2, 4, 8) if bound <= 256**size)
        number = int.from_bytes(self.take(size), "little")
        assert number < bound
        return number

    def bits(self, count: int) -> list[int]:
        number = int.from_bytes(self.take(-(-count // 8)), "little")
        assert number < 2**count
        return [number >> i & 1 for i in range(count)]


def hash_function(reader: Reader, g: int, size: int | None) -> Callable[[int], int]:
    """The function of a report of local hashing."""
    m = 1
    while g ** (m + 1) <= 2**64:
        m += 1
    if size is not None and size <= 3 * m:
        words = -(-size // m)
        d = -(-size // words)
        digits = [reader.integer(g**d) for _ in range(words)]
        return lambda x: digits[x // d] // g ** (x % d) % g
    p = SMALL if size is not None and g <= 32 and size <= SMALL else LARGE
    a, b, c = (reader.integer(p) for _ in range(3))

    def bucket(x: int) -> int:
        v, start = (a * x * x + b * x + c) % p, 0
        for number in range(g):
            start += p // g + (number < p % g)
            if v < start:
                return number
        raise AssertionError("the intervals hold all numbers")

    return bucket


def hashed(reader: Reader, g: int, size: int | None, values: range) -> list[bool]:
    """Which values a report of local hashing supports."""
    function = hash_function(reader, g, size)
    bucket = reader.integer(g)
    return [function(x) == bucket for x in values]


def members(reader: Reader, size: int, count: int) -> list[bool]:
    """Which values a report of subset selection holds."""
    width = next(width for width in (1, 2, 4, 8) if size <= 256**width)
    if -(-size // 8) <= count * width:
        return list(map(bool, reader.bits(size)))
    listed = [reader.integer(size) for _ in range(count)]
    assert listed == sorted(set(listed))
    return [x in listed for x in range(size)]


def walsh(reader: Reader, size: int) -> list[bool]:
    """Which values a report of Hadamard response supports."""
    n = 2
    while n <= size:
        n *= 2
    y = reader.integer(n)
    return [(y & (x + 1)).bit_count() % 2 == 0 for x in range(size)]


def signed(reader: Reader) -> int:
    return int.from_bytes(reader.take(8), "little", signed=True)
