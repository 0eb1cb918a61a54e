"""A host that is not meant to start."""

from pathlib import Path

from innkeeper.contract.errors import StartFault
from innkeeper.settings import SettingsFault
from innkeeper.testing.host import InProcessHost
from innkeeper.testing.setup import Setup


def faults_at_start(setup: Setup, folder: Path) -> tuple[str, ...]:
    """Start a host and stop it again; return what keeps it from starting, a line each."""
    try:
        with InProcessHost(setup, folder):
            return ()
    except (StartFault, SettingsFault) as fault:
        return tuple(fault.faults)
