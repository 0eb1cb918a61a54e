"""A2A and JOSE as one plain ASGI app: the only part of the host that knows either."""
