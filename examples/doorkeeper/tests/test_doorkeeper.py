from types import SimpleNamespace
from typing import cast

import pytest

from innkeeper import Turn
from innkeeper_doorkeeper import should_handle_turn


@pytest.mark.parametrize(("text", "handled"), [("Ada", True), ("psst, Ada", False), ("PSST", False), ("a psst", True)])
def test_only_whispers_are_declined(text: str, handled: bool) -> None:
    assert should_handle_turn(cast("Turn", SimpleNamespace(text=text))) is handled
