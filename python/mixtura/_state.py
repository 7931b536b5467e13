"""Converts the state of estimators to plain data, so that skops can store it without trusting compiled types."""

from __future__ import annotations

from typing import Any

from ._mixtura import Model, Online

#: Key that marks a dictionary as one of mixtura's objects.
_KIND = "mixtura-object"


def plain(value: Any) -> Any:
    """Converts models and learners to text, also inside tuples; other values stay as they are."""
    if isinstance(value, Model):
        return {_KIND: "model", "text": value.to_json()}
    if isinstance(value, Online):
        return {_KIND: "online", "of": list(value.__reduce__()[1])}
    return tuple(map(plain, value)) if type(value) is tuple else value


def restored(value: Any) -> Any:
    """Reverses `plain`; floats keep their bits."""
    if type(value) is tuple:
        return tuple(map(restored, value))
    kind = value.get(_KIND) if type(value) is dict else None
    if kind == "model":
        return Model.from_json(value["text"])
    if kind == "online":
        return Online.from_json(*value["of"])
    return value
