"""What the engine and the edge need from the rest of the host: protocols and frozen records, contract types only."""
