"""Formats the results: a table for the terminal, and RESULTS.md."""

import json

from . import classes
from .contestants import ALL
from .measure import AGREEMENT
from .places import BENCH

ORDER = [contestant.name for contestant in ALL]
LEGEND = "– not measured, ≠ likelihood differs; the reasons are below. EM unless the column says SEM."
# Floating-point operations of `exp2` and of `log2` in crates/mixtura/src/kernels/elementary.rs.
POWER, LOGARITHM = 17, 14
REMARKS = {contestant.name: f"{contestant.title}: {contestant.remark}." for contestant in ALL if contestant.remark}


def short_number(value):
    """A number with three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = 0
    while abs(value) * 10**digits < 100 and digits < 4:
        digits += 1
    return f"{value:,.{digits}f}"


def table(header, rows, markdown=True):
    """Rows of text as a table, in Markdown or aligned for a terminal."""
    if markdown:
        lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in [header, *rows]
    )


def present(results):
    """Contestants with a time for at least one shape, and their titles."""
    names = [name for name in ORDER if any(time_of(shape, name) or disagrees(shape, name) for shape in results["shapes"])]
    titles = {}
    for shape in results["shapes"]:
        for name, entry in shape["contestants"].items():
            titles[name] = entry["title"]
    return names, titles


def structure_of(shape):
    return shape.get("covariance", "full")


def only_full(results):
    return {**results, "shapes": [shape for shape in results["shapes"] if structure_of(shape) == "full"]}


def with_structures(results):
    """The shapes with non-full covariances and the full ones on the same rows, with the contestants measured on the former."""
    structured = [shape for shape in results["shapes"] if structure_of(shape) != "full"]
    data = {shape["data"] for shape in structured}
    names, _ = present({"shapes": structured})

    def kept(shape):
        return {**shape, "contestants": {name: entry for name, entry in shape["contestants"].items() if name in names}}

    return {**results, "shapes": [kept(shape) for shape in results["shapes"] if shape.get("data") in data]}


def entry_of(shape, name):
    return shape["contestants"].get(name, {})


def time_of(shape, name):
    """Nanoseconds per (row, component) and round, if the time is valid."""
    entry = entry_of(shape, name)
    return entry.get("nanoseconds") if entry.get("counts") else None


def disagrees(shape, name):
    entry = entry_of(shape, name)
    return "nanoseconds" in entry and not entry["counts"]


def times(results, markdown=True):
    names, titles = present(results)
    rows = []
    for shape in results["shapes"]:
        cells = ["≠" if disagrees(shape, name) else short_number(time_of(shape, name)) if time_of(shape, name) else "–" for name in names]
        rows.append([shape["title"], *cells])
    return table(["ns per (row, component) and round", *(titles[name] for name in names)], rows, markdown)


def ratios(results, markdown=True):
    """Times relative to mixtura's algorithm of the same kind."""
    names, titles = present(results)
    peers = [name for name in names if not name.startswith("mixtura")]
    rows = []
    for shape in results["shapes"]:
        cells = []
        for name in peers:
            own = time_of(shape, f"mixtura-{entry_of(shape, name).get('algorithm', 'em')}")
            peer = time_of(shape, name)
            cells.append(f"{short_number(peer / own)}×" if own and peer else "–")
        rows.append([shape["title"], *cells])
    return table(["time as a multiple of mixtura's", *(titles[name] for name in peers)], rows, markdown)


def multiply_adds(results):
    """Number of multiply-adds, and a round of EM relative to full covariances: by multiply-adds and by time."""
    full = {shape["data"]: shape for shape in results["shapes"] if structure_of(shape) == "full"}
    rows = []
    for shape in results["shapes"]:
        counts, whole = shape["multiply_adds"], full.get(shape["data"])
        row = [shape["title"], f"{counts['density']:g}", f"{counts['statistics']:g}"]
        row.append(f"{100 * sum(counts.values()) / sum(whole['multiply_adds'].values()):.0f} %" if whole else "–")
        time, whole_time = time_of(shape, "mixtura-em"), time_of(whole, "mixtura-em") if whole else None
        rows.append([*row, f"{100 * time / whole_time:.0f} %" if time and whole_time else "–"])
    return table(["multiply-adds per (row, component)", "density", "EM's statistics", "both, of full", "time of mixtura EM, of full"], rows)


def with_powers(shape):
    """EM's limit if the posterior's arithmetic counts too."""
    counted = sum(shape["multiply_adds"].values())
    return shape["limit"]["em"] * (1 + (POWER + LOGARITHM / shape["components"]) / counted)


def limits(results, markdown=True):
    names, titles = present(results)
    own = [name for name in names if name.startswith("mixtura")]
    header = ["share of the arithmetic limit", "EM limit, ns", "SEM limit, ns"]
    header += [titles[name] for name in own] + ["oneDAL", "mixtura EM, with powers", "EM ÷ SEM"]
    rows = []
    for shape in results["shapes"]:
        limit = shape.get("limit")
        row = [shape["title"]] + ([short_number(limit["em"]), short_number(limit["sem"])] if limit else ["–", "–"])
        for name in [*own, "onedal"]:
            time, algorithm = time_of(shape, name), entry_of(shape, name).get("algorithm")
            row.append(f"{100 * limit[algorithm] / time:.0f} %" if time and limit else "–")
        em, sem = time_of(shape, "mixtura-em"), time_of(shape, "mixtura-sem")
        row.append(f"{100 * with_powers(shape) / em:.0f} %" if em and limit else "–")
        rows.append([*row, f"{em / sem:.2f}" if em and sem else "–"])
    return table(header, rows, markdown)


def draws(results):
    """Whether SEM's labels are the same bits in both precisions."""
    verdicts = {shape["title"]: entry_of(shape, "mixtura-sem").get("same_bits_as_double") for shape in results["shapes"]}
    if not any(verdict is not None for verdict in verdicts.values()):
        return ""
    wrong = [title for title, verdict in verdicts.items() if verdict is False]
    return f"SEM's models after 3 rounds, mixed precision compared with double precision only: {'**different** on ' + '; '.join(wrong) if wrong else 'bit-identical on every shape'}."


def traces(results):
    """mixtura's own timing compared with the difference of whole runs."""
    rows = []
    for shape in results["shapes"]:
        for name in ORDER:
            entry = entry_of(shape, name)
            if "trace" in entry:
                cells = [entry["nanoseconds"], entry["trace"]["best_nanoseconds"], entry["trace"]["median_nanoseconds"]]
                memory = entry["peak_bytes"] / 2**20
                data = 8 * shape["rows"] * shape["columns"] / 2**20
                rows.append([f"{shape['title']}, {entry['title']}", *map(short_number, cells), f"{memory:.0f}", f"{data:.0f}"])
    return table(["ns", "difference of runs", "best round", "median round", "peak memory, MiB", "data, MiB"], rows)


def agreement(results):
    rows = []
    for shape in results["shapes"]:
        for name in ORDER:
            entry = entry_of(shape, name)
            if "difference" in entry:
                verdict = "yes" if entry["agrees"] else "**no**"
                if "confirmed_by" in entry:
                    verdict = f"{len(entry['confirmed_by'])} agree"
                cells = [str(entry["rounds"][1]), f"{entry['likelihood']:.9f}", f"{entry['difference']:.1e}", verdict]
                rows.append([f"{shape['title']}, {entry['title']}", *cells])
    return table(["EM", "rounds", "nats per row", "minus mixtura's", "agrees"], rows)


def targets(results):
    wanted = json.loads((BENCH / "targets.json").read_text())
    shapes = {shape["name"]: shape for shape in results["shapes"]}
    again = {shape["name"]: shape for shape in results.get("again", {}).get("shapes", [])}
    vectors = vectors_of(results)
    parts = [target_table(wanted, shapes, again, vectors), target_table(wanted["structures"], shapes, again, vectors)]
    return "\n\n".join([*parts, "\n".join(other_targets(results, shapes, wanted["others"]))])


def vectors_of(results):
    return "avx512" if "avx512f" in results["machine"]["vectors"] else "avx2"


def target_table(wanted, shapes, again, vectors):
    """Targets and results. Some targets differ between machines with and without AVX-512.

    Comparisons with other programs are taken from a run with more time if there is one.
    """
    header = ["target → reached"] + [shapes[name]["title"] if name in shapes else name for name in wanted["shapes"]]
    rows = []
    for target in wanted["rows"]:
        bounds = target["at_least"]
        if isinstance(bounds, dict):
            bounds = bounds[vectors]
        cells = []
        for name, least in zip(wanted["shapes"], bounds):
            is_peer = target.get("slow") not in (None, "mixtura-em")
            places = (again, shapes) if is_peer else (shapes, again)
            value = reached(target, places[0].get(name)) or reached(target, places[1].get(name))
            mark = "" if value is None or least is None else " ✓" if value >= least else " ✗"
            text = "–" if value is None else f"{value:.3g} {target['unit']}".strip()
            cells.append(f"{'–' if least is None else least} → {text}{mark}")
        rows.append([target["what"], *cells])
    return table(header, rows)


def reached(target, shape):
    if shape is None:
        return None
    if target["kind"] == "share":
        time = time_of(shape, target["contestant"])
        return 100 * shape["limit"]["em"] / time if time and shape.get("limit") else None
    slow, fast = time_of(shape, target["slow"]), time_of(shape, target["fast"])
    return slow / fast if slow and fast else None


def other_targets(results, shapes, others):
    def line(what, value, bound, text):
        verdict = "not measured" if value is None else f"{text(value)} {'✓' if value <= bound else '✗'}"
        return f"- {what}: {verdict}"

    def quotient(over, under, name="mixtura-em"):
        top, bottom = (time_of(shapes[shape], name) if shape in shapes else None for shape in (over, under))
        return top / bottom if top and bottom else None

    lines = []
    for n_components, name in ((100, "2e5x10-k100-separated"), (1000, "1e5x10-k1000-separated")):
        bound = others[f"separated_k{n_components}_of_dense_at_most"]
        for algorithm, title in (("mixtura-em", "EM"), ("mixtura-sem", "SEM")):
            what = f"time with separated K = {n_components} relative to overlapping K = 100, {title} (at most {bound})"
            lines.append(line(what, quotient(name, "2e5x10-k100", algorithm), bound, lambda value: f"{value:.2f}"))
    bound = others["small_data_factor_at_most"]
    lines.append(line(f"time per row with 10⁴ rows relative to 10⁶ rows, EM (at most {bound})", quotient("1e4x10-k10", "1e6x10-k10"), bound, lambda value: f"{value:.2f}"))
    grown = results.get("growth")
    if grown:
        bound = others["growth_within"]
        for name in ("mixtura-em", "mixtura-sem"):
            values = [row[name]["nanoseconds_per_row"] for row in grown["rows"]]
            spread = max(values) / min(values) - 1 if min(values) > 0 else None
            lines.append(line(f"largest relative to smallest time per row, {name} (within {bound:.0%})", spread, bound, lambda value: f"+{value:.0%}"))
        bound = others["reading_rounds_at_most"]
        for kind, value in grown["reading"].items():
            lines.append(line(f"starting, reading and packing from {kind}, in EM rounds (at most {bound})", value, bound, lambda value: f"{value:.1f}"))
    return lines


def growth(results):
    grown = results["growth"]
    rows = []
    for row in grown["rows"]:
        cells = [f"{row['rows']:,}"]
        for name in ("mixtura-em", "mixtura-sem"):
            beside = (row[name]["peak_bytes"] - row["data_bytes"]) / 2**20
            cells += [short_number(row[name]["nanoseconds_per_row"]), f"{beside:.0f}"]
        rows.append(cells)
    text = table(["rows (×10, K=10)", "EM, ns per row", "memory in addition to the data, MiB", "SEM, ns per row", "memory in addition to the data, MiB"], rows)
    threads = {name: value for name, value in grown["threads"].items() if isinstance(value, float)}
    if threads:
        said = ", ".join(f"{name} {value:.2f}" for name, value in threads.items())
        text += f"\n\nSpeed with {grown['threads']['threads']} threads relative to one thread: {said}."
    return text


def skipped(results):
    """What was not measured and why; reasons that apply to all shapes are listed once."""
    reasons = {}
    for shape in results["shapes"]:
        if "skipped" in shape:
            reasons.setdefault(("all", shape["skipped"]), []).append(shape["title"])
        for entry in shape["contestants"].values():
            if "skipped" in entry:
                reasons.setdefault((entry["title"], entry["skipped"]), []).append(shape["title"])
            elif not entry["counts"]:
                why = f"its likelihood differs by {entry['difference']:.1e} nats per row (≠ above)"
                reasons.setdefault((entry["title"], why), []).append(shape["title"])
    measured = len([shape for shape in results["shapes"] if "skipped" not in shape])
    return [f"{who}, {'everywhere' if len(where) == measured > 1 else '; '.join(where)}: {why}" for (who, why), where in reasons.items()]


def other_class(results):
    """The last record of another class of machines."""
    machine, full = results["machine"], only_full(results)
    return [
        f"## On another class of machine: {machine['processor']} {'with' if vectors_of(results) == 'avx512' else 'without'} AVX-512",
        f"Recorded on {results['date']} with mixtura {results['versions']['mixtura']}: {machine['processor']}, {machine['cores']} cores, "
        f"{' '.join(machine['vectors'])}; matrix products reached {results['peak']['double'] / 1e9:.1f}·10⁹ multiply-adds per second.",
        times(results),
        ratios(results),
        limits(full),
    ]


def terminal(results):
    parts = [times(results, False), ratios(results, False)]
    if only_full(results)["shapes"]:
        parts.append(limits(only_full(results), False))
    left_out = skipped(results)
    if left_out:
        parts.append("Not measured:\n" + "\n".join(f"  {line}" for line in left_out))
    return "\n\n".join(parts)


def markdown(results):
    machine, peak = results["machine"], results.get("peak")
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    calibration = "not measured"
    if peak:
        calibration = f"{peak['double'] / 1e9:.1f}·10⁹ multiply-adds per second in double precision, {peak['single'] / 1e9:.1f}·10⁹ in single precision"
    parts = [
        "# Speed compared with other software",
        "Written by `bench/run`; do not edit. " + (results["mode"] and f"**{results['mode']}: do not quote these numbers.**"),
        f"{results['date']} · {machine['processor']}, {machine['cores']} cores, {' '.join(machine['vectors'])}, "
        f"{machine['memory_gigabytes']} GB · {machine['system']} · {results['threads']} threads for each program\n\n"
        f"Versions: {versions}.\n\nPeak of matrix products in this run: {calibration}.",
        "![Time per round](speed.svg)",
    ]
    full, structures = only_full(results), with_structures(results)
    if full["shapes"]:
        parts += [
            "## Times",
            times(full),
            LEGEND,
            ratios(full),
            "## Compared with the arithmetic limit",
            "A density takes D(D+1)/2 + D + 1 multiply-adds per (row, component), EM's statistics the same number again, SEM's 1/K of that. "
            "The limit is the time for them at the peak rate above, in double precision; SEM can exceed it where it uses single precision. "
            "With few columns the posterior takes more arithmetic than the densities. The column “with powers” counts it too: "
            f"{POWER} operations for a power of two per (row, component), {LOGARITHM} for a logarithm per row, each as one multiply-add.",
            limits(full),
            draws(full),
        ]
    if again := results.get("again"):
        parts += [
            "### With more time",
            f"These shapes were measured again in a separate run on {again['date']}, with {again['settings']['budget']:g} s per program, so that slower ones could take part.",
            times(again),
            ratios(again),
        ]
    if structures["shapes"]:
        parts += [
            "## Covariance types",
            "The same rows with other covariance types, each from a start by mixtura with that type, the same for every program.",
            times(structures),
            LEGEND,
            ratios(structures),
            "Multiply-adds per (row, component) for a density and for EM's statistics: tied 2D + D(D+1)/(2K) and (D+1) + (D+1)(D+2)/(2K), "
            "diagonal 2D and 2D + 1, spherical 2D and D + 2. The limit above does not apply, because most of this work is not a matrix product.",
            multiply_adds(structures),
        ]
    parts += ["## Targets", targets(results), (BENCH / "missed.md").read_text().strip()]
    if results.get("growth"):
        parts += ["## Growth", growth(results)]
    for other in classes.others(BENCH / "earlier.json", results):
        parts += other_class(other)
    parts += [
        "## How it was measured",
        "Every program fits the same rows and starts from the same model, a k-means++ start by mixtura with the covariance type that is fitted, unless it does not accept a start. "
        "A time is the best of several long runs minus the best of several short runs, divided by the difference in rounds; the programs take turns. "
        "mixtura is run as a command that reads its file each time; the others keep the rows in memory.",
        "\n".join(f"- {remark}" for name, remark in REMARKS.items() if name in present(results)[0]),
        "mixtura's own trace compared with the difference of whole runs:",
        traces(results),
        f"Log-likelihood per row after the last round, computed in numpy from each model; a time is valid if it is within {AGREEMENT:.0e} of mixtura's:",
        agreement(results),
        "## Not measured",
        "\n".join(f"- {line}" for line in skipped(results)) or "Nothing.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
