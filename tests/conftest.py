"""Fixtures of every test."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio: hypercorn, Quart and aiosqlite are asyncio programs."""
    return "asyncio"
