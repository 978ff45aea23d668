"""Whatever the text: a mechanism that reads back, or a short explained refusal, soon."""

from __future__ import annotations

import struct
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_texts import CODE, PATHS, VALID, damaged, nested, numbers, soups, texts, with_numbers
from stopwatch import at_most

from shuffledp.mechanisms import LocalRandomizer, parse, parse_family

#: Far more than any of these texts needs, and far less than forever.
SECONDS = 60


@pytest.fixture(autouse=True)
def _nothing_is_evaluated(tmp_path, monkeypatch):
    """The code among the texts would leave a file behind."""
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


def check(text: str) -> None:
    with at_most(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("error")
        read(parse, text)
        family = read(parse_family, text)
        if family is not None:
            assert isinstance(family(0.5), LocalRandomizer)


def read(reader, text):
    try:
        made = reader(text)
    except ValueError as error:
        message = str(error)
        assert message.strip()
        assert len(message) < 1500
        assert "Exceeds the limit" not in message
        assert "please report" not in message
        return None
    if reader is parse:
        assert isinstance(made, LocalRandomizer)
        canonical = str(made)
        again = parse(canonical)
        assert again == made
        assert type(again) is type(made)
        assert str(again) == canonical
        assert made.epsilon0 >= 0
    return made


@settings(max_examples=400)
@given(damaged())
def test_damaged_texts(text):
    check(text)


@settings(max_examples=300)
@given(with_numbers())
def test_other_numbers(text):
    check(text)


@settings(max_examples=300)
@given(soups)
def test_words_in_any_order(text):
    check(text)


@settings(max_examples=60)
@given(nested())
def test_deep_nesting(text):
    check(text)


@pytest.mark.parametrize("text", CODE)
def test_code_is_refused(text):
    for reader in (parse, parse_family):
        with pytest.raises(ValueError, match=r"\S"):
            reader(text)


@settings(max_examples=150)
@given(code=st.sampled_from(CODE), text=st.sampled_from(VALID), where=st.floats(0, 1))
def test_code_inside_a_text_is_not_run(code, text, where):
    at = round(where * len(text))
    check(text[:at] + code + text[at:])


@pytest.mark.parametrize("path", PATHS)
def test_paths(path):
    with at_most(SECONDS), pytest.raises(ValueError, match="path"):
        parse(f"matrix({path!r})")


@settings(max_examples=40)
@given(st.lists(numbers, max_size=4), st.sampled_from([1, 2, 50, 2000]))
def test_long_lists(row, count):
    line, few = ",".join(row), min(count, 50)
    check(f"matrix([{','.join([f'[{line}]'] * count)}])")
    check(f"krr(k=[{','.join(row * count)}], epsilon0=1)")
    check(f"joint({','.join(['krr(2, 1)'] * few)}, at_most={row[0] if row else 1})")
    check(f"parallel({','.join(f'{weight}*krr(2, 1)' for weight in row * few)})")


@pytest.mark.slow
@settings(max_examples=20_000)
@given(texts)
def test_texts_at_length(text):
    check(text)


def test_python_does_not_warn_about_a_text():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"path .*data.csv. cannot be read"):
            parse(r"matrix('folder\data.csv')")


@pytest.mark.parametrize(
    "text",
    [
        f"laplace(1, {'a' * 10_000!r})",
        f"krr(k={[1] * 10_000}, epsilon0=1)",
        f"parallel({', '.join(['0.25*krr(2, 1)'] * 1000)})",
        f"parallel(0.5*matrix({[[1]] * 1000}), 0.5*matrix([[1], [1]]))",
    ],
    ids=lambda text: text[:20],
)
def test_messages_stay_short(text):
    with pytest.raises(ValueError, match=r"\S") as error:
        parse(text)
    assert len(str(error.value)) < 500


def npy(header: str, body: bytes = b"") -> bytes:
    line = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line + body


FILES = {
    "huge.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 100000000)}"),
    "negative.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}"),
    "short.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)}", b"\0" * 8),
    "open.npy": npy("{"),
    "deep.npy": npy("(" * 200 + ")" * 200),
    "shape.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (True, True)}", b"\0" * 8),
    "type.npy": npy("{'descr': [5], 'fortran_order': False, 'shape': (1, 1)}", b"\0" * 8),
    "objects.npy": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}", b"\0" * 8),
    "dates.npy": npy("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1, 1)}", b"\0" * 8),
    "archive.npy": b"PK\x03\x04" + b"\0" * 50,
    "empty.npy": b"",
    "bytes.csv": b"\xff\xfe\x00",
    "zeros.csv": b"\0" * 1000,
    "infinite.csv": b"1e400",
    "nan.csv": b"nan",
    "long.csv": b"1" * 6000,
    "ragged.csv": b"0.5,0.5\n1",
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_hold_no_matrix(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(FILES[name])
    with at_most(SECONDS), pytest.raises(ValueError, match="matrix") as error:
        parse(f"matrix({str(file)!r})")
    assert len(str(error.value)) < 1500
    file.unlink()


@settings(max_examples=100)
@given(content=st.binary(max_size=80), suffix=st.sampled_from(["npy", "csv"]))
def test_files_of_any_bytes(content, suffix, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    file.write_bytes(content if suffix == "csv" else b"\x93NUMPY\x01\x00" + content)
    check(f"matrix({str(file)!r})")
