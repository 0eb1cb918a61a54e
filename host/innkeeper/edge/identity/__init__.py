"""Who somebody is: bearer tokens, those that gateways sign and those that this host issues."""
