"""The door of gateway tokens under atheris, which looks for inputs that reach new code. Arguments are libFuzzer's."""

import sys

import atheris

with atheris.instrument_imports(include=["innkeeper.edge.identity", "joserfc", "json"]):
    from tokens_from_bytes import judge

atheris.Setup(sys.argv, judge)
atheris.Fuzz()
