"""The engine: it accepts messages, runs agents over them, and tells what happened. It knows no wire and no SQL."""
