"""The one typed table of settings, read from TOML and environment."""

from innkeeper.settings.expansion import Expansion
from innkeeper.settings.loading import SettingsFault, load_settings, settings_file
from innkeeper.settings.table import Auth, Card, Host, Push, Settings, TenantSettings, Turns, Watch, Wire

__all__ = [
    "Auth",
    "Card",
    "Expansion",
    "Host",
    "Push",
    "Settings",
    "SettingsFault",
    "TenantSettings",
    "Turns",
    "Watch",
    "Wire",
    "load_settings",
    "settings_file",
]
