"""Checks which arguments go together."""

from __future__ import annotations


def check_result(result: str, algorithm: str) -> None:
    """Refuses to choose among the models of SEM if there are none."""
    if result != "average" and algorithm not in ("sem", "auto"):
        raise ValueError(f"result={result!r} needs algorithm='sem' or 'auto', not {algorithm!r}.")
