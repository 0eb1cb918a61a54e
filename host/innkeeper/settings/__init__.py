"""The one typed table of settings, read from TOML and environment."""

from innkeeper.settings.loading import SettingsFault, load_settings
from innkeeper.settings.table import Auth, Card, Host, Settings, TenantSettings, Turns, Wire

__all__ = [
    "Auth",
    "Card",
    "Host",
    "Settings",
    "SettingsFault",
    "TenantSettings",
    "Turns",
    "Wire",
    "load_settings",
]
