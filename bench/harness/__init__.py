"""Measures mixtura and its peers side by side; `bench/run` is the entry point."""
