"""Keeps the last record of every class of machines: processor and vector instructions."""

import json


def class_of(record):
    machine = record["machine"]
    return [machine["processor"], machine["vectors"]]


def others(path, record):
    """Records in a file that are of other classes than this one, latest first."""
    kept = json.loads(path.read_text()) if path.exists() else []
    return [other for other in kept if class_of(other) != class_of(record)]


def put_aside(former, path, record):
    """If the record in the file `former` is of another class than this one, moves it to the records in `path`."""
    if not former.exists():
        return
    old = json.loads(former.read_text())
    if class_of(old) != class_of(record):
        kept = sorted([*others(path, old), old], key=lambda each: each["date"], reverse=True)
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
