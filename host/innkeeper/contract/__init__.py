"""The contract between host and plugins: frozen data, protocols and the hooks, free of vendor types and I/O."""
