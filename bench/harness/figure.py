"""Draws speed.svg from results.json: one panel per shape, one bar per contestant.

Runs in the base environment: figure.py RESULTS SVG [PNG].
"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# From the Okabe–Ito palette, distinguishable with any colour vision, and by hatching in greyscale.
EM, SEM, PEER = "#0072B2", "#E69F00", "#B0B0B0"
COLUMNS = 3


def bars(shape):
    """Title, time and colour of each valid contestant, fastest first."""
    kept = []
    for name, entry in shape["contestants"].items():
        if entry.get("counts"):
            own = name.startswith("mixtura")
            colour = (EM if entry["algorithm"] == "em" else SEM) if own else PEER
            kept.append((entry["title"], entry["nanoseconds"], colour, entry["algorithm"]))
    return sorted(kept, key=lambda bar: bar[1])


def placed(shapes):
    """Shapes by panel; covariance types start on a new line, after empty panels."""
    full = [shape for shape in shapes if shape.get("covariance", "full") == "full"]
    structured = [shape for shape in shapes if shape not in full]
    empty = -len(full) % COLUMNS if structured else 0
    return [*full, *[None] * empty, *structured]


def draw(results):
    shapes = [shape for shape in results["shapes"] if bars(shape)]
    panels = placed(shapes)
    n_columns = min(COLUMNS, len(panels))
    n_lines = -(-len(panels) // n_columns)
    most = max(len(bars(shape)) for shape in shapes)
    size = (4.1 * n_columns, (0.24 * most + 0.75) * n_lines + 0.9)
    figure, axes = plt.subplots(n_lines, n_columns, figsize=size, squeeze=False, sharex=True, layout="constrained")
    times = [time for shape in shapes for _, time, _, _ in bars(shape)]
    limits = [shape["limit"]["sem"] for shape in shapes if shape.get("limit")]
    low, high = min(times + limits), max(times)
    for number, axis in enumerate(axes.flat):
        if number >= len(panels) or panels[number] is None:
            axis.set_visible(False)
            continue
        panel(axis, panels[number], low / 2, high * 6)
        axis.set_ylim(most - 0.4, -0.6)  # bars of equal thickness, the slowest at the bottom
    for number in range(max(0, len(panels) - n_columns), len(panels)):
        axis = axes.flat[number]
        axis.set_xlabel("ns per (row, component) and round")
        axis.tick_params(labelbottom=True)
    figure.legend(handles=legend(shapes), loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure


def panel(axis, shape, low, high):
    kept = bars(shape)
    for place, (_, time, colour, algorithm) in enumerate(kept):
        axis.barh(place, time - low, left=low, color=colour, hatch="///" if algorithm == "sem" else None, edgecolor="white", linewidth=0)
        axis.text(time * 1.12, place, f"{time:.3g}" if time < 1000 else f"{time:,.0f}", va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    if shape.get("limit"):
        axis.axvline(shape["limit"]["em"], color="black", linestyle="--", linewidth=1)
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    axis.set_yticks(range(len(kept)), [title for title, *_ in kept], fontsize=8)
    axis.set_title(shape["title"], fontsize=9, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(axis="y", length=0)


def legend(shapes):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=EM, label="mixtura EM"),
        Patch(facecolor=SEM, hatch="///", edgecolor="white", label="mixtura SEM"),
        Patch(color=PEER, label="peers (hatched: SEM)"),
    ]
    if any(shape.get("limit") for shape in shapes):
        handles.append(Line2D([], [], color="black", linestyle="--", linewidth=1, label="arithmetic limit of EM"))
    return handles


def main():
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mixtura", "font.family": "sans-serif", "hatch.linewidth": 0.8})
    with open(sys.argv[1]) as file:
        figure = draw(json.load(file))
    figure.savefig(sys.argv[2], metadata={"Date": None, "Creator": None})
    if len(sys.argv) > 3:
        figure.savefig(sys.argv[3], dpi=110)


if __name__ == "__main__":
    main()
