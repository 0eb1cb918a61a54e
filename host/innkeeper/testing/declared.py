"""What a plugin declares: its configuration and its tools, as people and models will read them."""

import json
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from innkeeper.contract.tool import Tool
from innkeeper.testing.findings import Finding, error, warning


def config_findings(config: type[BaseModel]) -> Iterator[Finding]:
    """Look at a ``Config`` as the host has taken it: one that says nothing of unknown keys refuses them."""
    if config.model_config.get("extra") != "forbid":
        yield warning(
            f"Config takes unknown keys (extra={config.model_config.get('extra')!r})",
            "A misspelt setting would never be noticed: leave it out, then the host refuses them.",
        )
    for name, field in config.model_fields.items():
        if field.is_required() and not field.description:
            yield warning(
                f"Config.{name} is required and says nothing about itself",
                'Give it a default, or a description: Field(description="…").',
            )


def tool_findings(tool: Tool) -> Iterator[Finding]:
    """Look at a tool as a model is shown it."""
    if not tool.description.strip():
        yield warning(f"tool {tool.name!r} has no description", "A model knows no more of a tool than that.")
    try:
        json.dumps(tool.parameters, allow_nan=False)
    except (TypeError, ValueError) as wrong:
        yield error(f"tool {tool.name!r}: its parameters are no JSON: {wrong}")
        return
    properties, required = tool.parameters.get("properties", {}), tool.parameters.get("required", [])
    if not isinstance(properties, Mapping) or not all(isinstance(each, Mapping | bool) for each in properties.values()):
        yield error(f"tool {tool.name!r}: properties is no object of schemas")
    elif not isinstance(required, list) or not all(name in properties for name in required):
        yield error(f"tool {tool.name!r}: required names what is not among its properties: {required!r}")
