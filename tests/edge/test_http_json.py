"""JSON that two readers could take for two things is not taken at all."""

import pytest

from innkeeper.contract.errors import ParseFailed
from innkeeper.edge.strict_json import DEPTH, json_from_bytes

REFUSED = {
    "nothing": b"",
    "cut off": b'{"jsonrpc":"2.0",',
    "two texts": b"{} {}",
    "not UTF-8": b"\xff\xfe\xfa",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-8 of a surrogate": b'"\xed\xa0\x80"',
    "a name twice": b'{"method":"GetTask","method":"CancelTask"}',
    "a name twice, deep inside": b'{"a":[{"b":1,"b":1}]}',
    "a name twice, once escaped": b'{"a":1,"\\u0061":2}',
    "NaN": b'{"x":NaN}',
    "Infinity": b"[Infinity]",
    "minus Infinity": b"[-Infinity]",
    "a number beyond a double": b"[1e400]",
    "a number beyond a double, below": b"[-1e400]",
    "an integer too long": b"[" + b"9" * 101 + b"]",
    "a fraction too long": b"[0." + b"1" * 100 + b"]",
    "a lone high surrogate": b'"\\ud800"',
    "a lone low surrogate": b'["\\uDC00"]',
    "a lone surrogate in a name": b'{"\\ud83d":1}',
    "surrogates in the wrong order": b'"\\udc00\\ud800"',
    "arrays too deep": b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1),
    "objects too deep": b'{"a":' * (DEPTH + 1) + b"1" + b"}" * (DEPTH + 1),
    "arrays deeper than any stack": b"[" * 200_000 + b"]" * 200_000,
    "objects deeper than any stack": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a control character": b'"\x01"',
}

TAKEN = {
    "NUL": (b'"\\u0000"', "\0"),
    "a surrogate pair": (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
    "an escaped backslash before what looks like a surrogate": (b'"\\\\ud800"', "\\ud800"),
    "as deep as allowed": (b"[" * DEPTH + b"]" * DEPTH, None),
    "many brackets side by side": (b"[" + b",".join([b"[]"] * 100) + b"]", [[]] * 100),
    "brackets in a string": (b'"' + b"[" * 200 + b'"', "[" * 200),
    "a long number": (b"9" * 100, int("9" * 100)),
    "minus zero": (b"-0.0", 0.0),
    "names that differ": (b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    "white space around": (b" \n[]\t", []),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_json_is_refused_in_the_same_words(body: bytes) -> None:
    with pytest.raises(ParseFailed) as refused:
        json_from_bytes(body)
    assert refused.value.message == "Invalid JSON payload"
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(("body", "value"), TAKEN.values(), ids=TAKEN.keys())
def test_json_is_taken(body: bytes, value: object) -> None:
    parsed = json_from_bytes(body)
    assert value is None or parsed == value
