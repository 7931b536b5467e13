"""State of estimators as plain data, so that skops and others can store it without trusting compiled types."""

from __future__ import annotations

from typing import Any

from ._mixtura import Model, Online

#: What marks a dictionary that stands for one of our objects.
_KIND = "mixtura-object"


def plain(value: Any) -> Any:
    """Models and learners as texts, also inside tuples; anything else as it is."""
    if isinstance(value, Model):
        return {_KIND: "model", "text": value.to_json()}
    if isinstance(value, Online):
        return {_KIND: "online", "of": list(value.__reduce__()[1])}
    return tuple(map(plain, value)) if type(value) is tuple else value


def restored(value: Any) -> Any:
    """What `plain` was given; floats come back to the same bits."""
    if type(value) is tuple:
        return tuple(map(restored, value))
    kind = value.get(_KIND) if type(value) is dict else None
    if kind == "model":
        return Model.from_json(value["text"])
    if kind == "online":
        return Online.from_json(*value["of"])
    return value
