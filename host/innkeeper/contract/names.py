"""How things are named."""

import re
from typing import Final

ID_PATTERN: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
"""Tenant ids, agent ids, preset ids and plugin names: 1 to 63 of a-z 0-9 . _ -, with a letter or digit at both ends."""

ID_GRAMMAR: Final = "1 to 63 of a-z 0-9 . _ -, starting and ending with a letter or digit"
"""The grammar of ``ID_PATTERN`` in words."""
