"""No token makes the door fail, and none opens it that the gateway has not signed."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokens_from_bytes import GOOD, judge


@settings(max_examples=600, deadline=None)
@given(how=st.integers(0, 4), rest=st.binary(max_size=120) | st.text(max_size=60).map(str.encode))
@example(how=2, rest=b'{"alg":"none"}\xff{}')
@example(how=3, rest=b"\x00\x00\xff{}")
@example(how=4, rest=b'\x00\x01\x00"exp":1e400,')
@example(how=4, rest=b'\x00\x01\x00"exp":true,"exp":NaN,')
def test_any_token_is_refused_in_words_or_signed(how, rest):
    judge(bytes([how]) + rest)


def test_a_good_token_is_let_in():
    verified = judge(b"\x00" + GOOD.encode())
    assert verified is not None
    assert (verified.tenant, verified.caller.key) == ("hello", "remote:1:ann")
