from types import SimpleNamespace
from typing import cast

import pytest

from innkeeper import Turn
from innkeeper_hello import greet, register_agents


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_hello_greets_whoever_is_named() -> None:
    turn = cast("Turn", SimpleNamespace(text="Ada"))
    assert await register_agents().handler(turn) == await greet(turn) == "Hello, Ada"
