"""Measures how mixtura scales with rows and threads, and the cost of reading and memory."""

import dataclasses

from . import inputs
from .measure import SHORT, Entry
from .contestants import MIXTURA
from .peak import Peak
from .process import Mixtura

CONTESTANTS = MIXTURA[:2]


def measure(shapes, program, settings, peak):
    """Scaling with rows, one thread compared with all, reading, memory; all sizes interleaved."""
    entries = {}
    reference = len(shapes) // 2
    for number, shape in enumerate(shapes):
        given = inputs.make(shape, program, settings.install)
        threads = {1, settings.n_threads} if number == reference else {settings.n_threads}
        for n_threads in threads:
            for contestant in CONTESTANTS:
                entry = Entry(contestant)
                entry.runner = Mixtura(program, contestant.options, given, n_threads)
                entry.runner.fit(3, entry.model, None)
                estimate = min(entry.runner.traces[-1]["seconds"][2:])
                entry.short = SHORT
                entry.long = SHORT + max(2, min(100, round(settings.goal / estimate)))
                entries[shape.name, contestant.name, n_threads] = entry
    for _ in range(settings.repetitions):
        for entry in entries.values():
            entry.run("short", 600)
            entry.run("long", 600)
            if peak:
                peak.measure()
    return {
        "rows": [row(shape, entries, settings) for shape in shapes],
        "threads": threads_of(shapes[reference], entries, settings),
        "reading": reading(shapes[reference], entries, program, settings),
    }


def row(shape, entries, settings):
    kept = {"rows": shape.n_rows, "data_bytes": 8 * shape.n_rows * shape.n_columns}
    for contestant in CONTESTANTS:
        entry = entries[shape.name, contestant.name, settings.n_threads]
        kept[contestant.name] = {
            "nanoseconds_per_row": 1e9 * entry.seconds_per_round() / shape.n_rows,
            "rounds": [entry.short, entry.long],
            "peak_bytes": entry.runner.peak_bytes,
        }
    return kept


def threads_of(shape, entries, settings):
    """Speed with all threads relative to one thread, compared with that of matrix products."""
    if settings.n_threads == 1:
        return {}
    kept = {"threads": settings.n_threads}
    for contestant in CONTESTANTS:
        one, all = (entries[shape.name, contestant.name, n].seconds_per_round() for n in (1, settings.n_threads))
        kept[contestant.name] = one / all
    try:
        peaks = [Peak(n, settings.install) for n in (1, settings.n_threads)]
    except Exception as reason:
        return {**kept, "gemm_skipped": str(reason)}
    for _ in range(settings.repetitions):
        for peak in peaks:
            peak.measure()
    for peak in peaks:
        peak.close()
    return {**kept, **{f"{name} gemm": peaks[1].best[name] / peaks[0].best[name] for name in peaks[0].best}}


def reading(shape, entries, program, settings):
    """The cost of a whole run in addition to its rounds, in EM rounds, from NPY and from Parquet.

    This includes starting the process, reading, packing and writing the model. The additional pass for
    the likelihood of the last model is subtracted.
    """
    entry = entries[shape.name, "mixtura-em", settings.n_threads]
    a_round = entry.seconds_per_round()
    kept = {"npy": min(entry.times["short"]) / a_round - entry.short - 1}
    given = inputs.make(shape, program, settings.install)
    table = given.rows.with_suffix(".parquet")
    if not table.exists():
        inputs.generate(shape, table, program, settings.install)
    runner = Mixtura(program, CONTESTANTS[0].options, dataclasses.replace(given, rows=table), settings.n_threads)
    best = min(runner.fit(entry.short, entry.model, None) for _ in range(settings.repetitions))
    kept["parquet"] = best / a_round - entry.short - 1
    return kept
