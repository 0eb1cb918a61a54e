"""Plugins: found by entry point, checked, loaded, and asked through one typed door.

Nothing is re-exported here: ``discovery`` stays light enough to list what is installed without loading any of it.
"""
