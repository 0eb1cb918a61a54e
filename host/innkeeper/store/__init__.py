"""The embedded store: one SQLite file, one writer with group commit, a few readers."""

from innkeeper.store.api_tokens import open_token_book
from innkeeper.store.opening import open_store

__all__ = ["open_store", "open_token_book"]
