"""What the host needs from whatever keeps the data of plugins: a database per plugin and tenant."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from innkeeper.contract.tables import Database

Ensure = Callable[[Database, int], Awaitable[None]]
"""Brings the tables up to date from the version that is on disk, 0 where there is none."""


@dataclass(frozen=True, slots=True)
class PluginDataFile:
    """Where the data of a plugin at a tenant is, how much of the disk it takes, and the version of its tables."""

    path: str
    size_bytes: int
    version: int


class PluginData(Protocol):
    """The databases of all plugins. Names are plugin names and tenant ids, checked before they come here."""

    def database(self, plugin: str, tenant: str) -> Database:
        """Return the plugin's database at the tenant; nothing is opened or made before it is used."""
        ...

    async def migrate(self, plugin: str, tenant: str, declared: int, ensure: Ensure) -> None:
        """Call ``ensure`` and note the declared version, both in one transaction.

        Whatever ``ensure`` raises undoes all of it and is raised here; a cancellation too. The database that it is
        given refuses once this has returned or raised.

        Raises:
            StartFault: the version on disk is newer than the declared one (``ensure`` is not called), or the file
                cannot be used.
        """
        ...

    async def version(self, plugin: str, tenant: str) -> int | None:
        """Return the version of the tables on disk, 0 where none was noted, None where there is no data.

        Raises:
            StartFault: the file cannot be used.
        """
        ...

    async def describe(self, plugin: str, tenant: str) -> PluginDataFile | None:
        """Describe the data of the plugin at the tenant, None where there is none.

        Raises:
            StartFault: the file cannot be used.
        """
        ...

    async def purge(self, plugin: str, tenant: str) -> bool:
        """Remove the data of the plugin at the tenant for good, and tell whether there was any.

        Waits for a transaction that is on. Another process must not be using it.

        Raises:
            StartFault: the files cannot be removed.
        """
        ...

    def tenants_of(self, plugin: str) -> tuple[str, ...]:
        """Return the tenants at which the plugin has data, in order."""
        ...
