"""A host as an operator runs it: ``innkeeper serve`` in a process of its own, on a free port."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, final

from innkeeper.contract.message import JSON
from innkeeper.testing.pending import LoopThread, Pending
from innkeeper.testing.reply import Reply, reply_from_updates
from innkeeper.testing.setup import Setup
from innkeeper.testing.tenancy import sole_tenant

STOP_SECONDS: Final = 10


@final
class LiveHost:
    """A host that listens on a socket, as a context manager; it is spoken to through the a2a-sdk's client.

    ``url`` is its base URL, ``tenants`` are the ids that it serves. It keeps settings and data in ``folder``.
    """

    def __init__(self, setup: Setup, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.tenants: tuple[str, ...] = ()
        self._setup = setup
        self._errors = folder / "stderr"
        self._process: subprocess.Popen[str] | None = None
        self._thread = LoopThread("client of the live host")

    def __enter__(self) -> Self:
        config = self._setup.write(self.folder)
        names = () if self._setup.plugins is None else ("--plugins", *self._setup.plugins)
        path = os.pathsep.join(filter(None, sys.path))
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with arguments of our own
                (sys.executable, "-m", "innkeeper.testing.serving", str(config), *names),
                env={**self._setup.variables, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        line = self._process.stdout.readline()
        if not line:
            self.__exit__(None, None, None)
            raise RuntimeError(f"the host ended before it listened:\n{self.log}")
        told = json.loads(line)
        self.url, self.tenants = told["url"], tuple(told["tenants"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.communicate(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()

    @property
    def log(self) -> str:
        """What the host has written to stderr so far."""
        return self._errors.read_text(encoding="utf-8")

    def agent(self, tenant: str = "") -> str:
        """Return the base URL of a tenant, which may be left out where there is only one."""
        return f"{self.url}/agents/{sole_tenant(tenant, self.tenants)}"

    def send(self, text: str, *, tenant: str = "", context: str = "") -> Pending[Reply]:
        """Say something to an agent as anybody may; the reply is there once its task has settled.

        Raises:
            CallFailed: the host cannot be reached, or refuses.
        """
        return self._thread.submit(_reply(self.agent(tenant), text, context), f"the turn of {text!r:.80}")

    def call(self, text: str, *, tenant: str = "", context: str = "") -> Pending[tuple[Mapping[str, JSON], ...]]:
        """Say something and return every A2A StreamResponse of the answer, as JSON objects."""
        return self._thread.submit(_updates(self.agent(tenant), text, context), f"the call of {text!r:.80}")


async def _updates(url: str, text: str, context: str) -> tuple[Mapping[str, Any], ...]:
    from innkeeper.edge.client import call, json_line  # noqa: PLC0415 - the SDK takes its time

    return tuple([json.loads(json_line(update)) async for update in call(url, text, context_id=context or None)])


async def _reply(url: str, text: str, context: str) -> Reply:
    return reply_from_updates(await _updates(url, text, context))
