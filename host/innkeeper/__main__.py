"""``python -m innkeeper``: the command line of the Python that runs it."""

from innkeeper.cli import main

main(prog_name="innkeeper")
