"""Innkeeper: a plugin host for A2A agents. Everything a plugin author needs is here."""

from innkeeper.contract.agent import Agent, Answer, Handler, Provider, Skill
from innkeeper.contract.caller import Caller
from innkeeper.contract.errors import InnkeeperError, StartFault
from innkeeper.contract.markers import hookimpl
from innkeeper.contract.message import ABSENT, JSON, Message, Part
from innkeeper.contract.plugin import PluginContext
from innkeeper.contract.session import Session
from innkeeper.contract.turn import Ask, Refuse, Turn

__all__ = [
    "ABSENT",
    "JSON",
    "Agent",
    "Answer",
    "Ask",
    "Caller",
    "Handler",
    "InnkeeperError",
    "Message",
    "Part",
    "PluginContext",
    "Provider",
    "Refuse",
    "Session",
    "Skill",
    "StartFault",
    "Turn",
    "hookimpl",
]
