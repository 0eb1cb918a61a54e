"""What is wrong at start, and what becomes of it: the host does not start, or goes on without the plugin."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from innkeeper.contract.errors import StartFault
from innkeeper.registry.printable import printable
from innkeeper.registry.secrets import Secrets

log = logging.getLogger(__name__)

EVERYWHERE: Final = ""
"""Stands for every tenant, and the host itself."""


@dataclass(frozen=True, slots=True)
class Blame:
    """A fault of a plugin, everywhere or at one tenant; without a plugin it is the settings' or the host's own.

    ``distribution`` is name and version of what brings the plugin.
    """

    reason: str
    plugin: str = ""
    tenant: str = EVERYWHERE
    distribution: str = ""

    def __str__(self) -> str:
        of = f" of {self.distribution}" if self.distribution else ""
        at = f" at tenant {self.tenant!r}" if self.tenant else ""
        reason = printable(" ".join(self.reason.split()))
        return f"plugin {self.plugin!r}{of}{at}: {reason}" if self.plugin else reason


@final
class Blames:
    """Collects faults, without the ``secrets``. With ``quarantine`` those of plugins only take the plugin away."""

    def __init__(self, *, quarantine: bool, secrets: Secrets | None = None) -> None:
        self.quarantine = quarantine
        self._secrets = secrets or Secrets()
        self._distributions: Mapping[str, str] = {}
        self._blames: list[Blame] = []

    def know(self, distributions: Mapping[str, str]) -> None:
        """Learn the name and version of what brings each plugin."""
        self._distributions = distributions

    def add(self, blame: Blame) -> None:
        """Take note of a fault."""
        distribution = blame.distribution or self._distributions.get(blame.plugin, "")
        blame = replace(blame, reason=self._secrets.redacted(blame.reason), distribution=distribution)
        self._blames.append(blame)
        if self.quarantine and blame.plugin:
            log.warning("%s; it is not served", blame)

    @property
    def any(self) -> bool:
        """Whether there is any fault at all."""
        return bool(self._blames)

    @property
    def of_plugins(self) -> tuple[Blame, ...]:
        """The faults of plugins."""
        return tuple(blame for blame in self._blames if blame.plugin)

    @property
    def of_the_host(self) -> tuple[Blame, ...]:
        """The faults that are no plugin's."""
        return tuple(blame for blame in self._blames if not blame.plugin)

    def barred(self, plugin: str, tenant: str = EVERYWHERE) -> bool:
        """Tell whether a plugin is not served at a tenant, or anywhere."""
        return any(blame.plugin == plugin and blame.tenant in (EVERYWHERE, tenant) for blame in self._blames)

    def settle(self) -> None:
        """Go on, if that is possible.

        Raises:
            StartFault: every fault with which the host does not start.
        """
        fatal = [blame for blame in self._blames if not (self.quarantine and blame.plugin)]
        if fatal:
            raise StartFault(*dict.fromkeys(map(str, self._blames)))
