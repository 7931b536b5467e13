"""Writes the page and the figure about races of starts.

Runs in the base environment: race.py RESULTS FOLDER.
"""

import json
import pathlib
import sys

import numpy as np

import panel
from panel import REACHED

# A set has many rows if there are at least so many for each free parameter.
MANY = 50
HUGE = 10_000_000
GROUPS = {
    "generated": "Generated sets",
    "real": "Real sets",
    "other": "Sets on which no constant was chosen",
}
# From the Okabe–Ito palette, distinguishable with any colour vision, and by shape in greyscale.
MARKS = {"one": ("#999999", "o"), "ten": ("#E69F00", "s"), "race": ("#0072B2", "D"), "scikit-learn": ("#CC79A7", "^")}
# Labels of gaps: 0, then powers of ten.
TICKS = ["0", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1", "10", "100", "1000"]


class Ways:
    """The runs of a set, by way: gaps to the best known likelihood, and seconds."""

    def __init__(self, data):
        self.data = data
        self.runs = {way: [fit for fit in data["fits"] if fit["way"] == way] for way in panel.WAYS}

    def gaps(self, way):
        return np.array([self.data["best_known"] - fit["mean_log_likelihood"] for fit in self.runs[way]])

    def seconds(self, way):
        return np.array([fit["seconds"] for fit in self.runs[way]])

    def n_reached(self, way):
        return int((self.gaps(way) <= REACHED).sum())

    def share_reached(self, way):
        return self.n_reached(way) / len(self.runs[way])

    def median(self, way, name):
        values = [fit[name] for fit in self.runs[way]]
        return float(np.median(values)) if values else float("nan")

    def ratio(self, way, base):
        """Median time of one way divided by that of another; NaN if one of them was not run."""
        return self.median(way, "seconds") / self.median(base, "seconds")

    @property
    def has_many_rows(self):
        return self.data["n_rows"] >= MANY * self.data["n_free"]

    @property
    def label(self):
        return f"{self.data['title']}, {self.data['size']} rows" if not self.data["is_real"] else self.data["title"]


def count(ways, way):
    n = len(ways.runs[way])
    return f"{ways.n_reached(way)} of {n}" if n else "–"


def gap(ways, way):
    gaps = ways.gaps(way)
    return " / ".join(f"{max(value, 0):.1g}" if value > 1e-6 else "0" for value in (np.median(gaps), gaps.max()))


def number(value):
    if not np.isfinite(value):
        return "–"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def table(sets):
    lines = [
        "| set | rows | p | reached: one start | ten starts | race | scikit-learn | gap, median / worst: one start | race "
        "| rounds: one start | race | time: one start, s | race ÷ one start | race ÷ ten starts | scikit-learn ÷ race |",
        "|---|---:|---:|" + "---:|" * 12,
    ]
    for data in sets:
        ways = Ways(data)
        cells = [data["title"], data["size"], f"{data['n_free']:,}"]
        cells += [count(ways, way) for way in ("one", "ten", "race", "scikit-learn")]
        cells += [gap(ways, "one"), gap(ways, "race")]
        cells += [number(ways.median(way, "full_rounds")) for way in ("one", "race")]
        cells += [number(ways.median("one", "seconds")), number(ways.ratio("race", "one"))]
        cells += [number(ways.ratio("race", "ten")), number(ways.ratio("scikit-learn", "race"))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def listed(failures):
    return f"; not on {'; '.join(failures)}" if failures else ""


def target(text, sets, failures, result=""):
    """A line of the list: whether the target is met, and where it is not. A target without sets is open."""
    if not sets:
        return f"- ○ {text}: not measured."
    mark = "✗" if failures else "✓"
    return f"- {mark} {text}: {result or f'{len(sets) - len(failures)} of {len(sets)} sets'}{listed(failures)}."


def often_enough(sets):
    sets = [ways for ways in sets if not ways.data["is_real"] and ways.data["n_rows"] >= panel.SMALL]
    text = "The race reaches the best known likelihood for at least 95 % of the seeds on generated sets of 10⁵ rows or more"
    if not sets:
        return target(text, [], [])
    reached, n = (sum(values) for values in zip(*((ways.n_reached("race"), len(ways.runs["race"])) for ways in sets)))
    missed = [f"{ways.label} ({count(ways, 'race')})" for ways in sets if ways.share_reached("race") < 0.95]
    mark = "✓" if reached >= 0.95 * n else "✗"
    fewer = f"; fewer on {'; '.join(missed)}" if missed else ""
    return f"- {mark} {text}: {reached} of {n}{fewer}."


def as_often_as_ten(sets):
    sets = [ways for ways in sets if ways.data["is_real"] and ways.runs["ten"]]
    missed = [
        f"{ways.label} ({count(ways, 'race')}, ten starts {count(ways, 'ten')})"
        for ways in sets
        if ways.share_reached("race") < ways.share_reached("ten")
    ]
    return target("It does so at least as often as ten starts on every real set", sets, missed)


def faster(text, sets, way, limit):
    """Whether a race takes at most `limit` times as long as another way."""
    sets = [ways for ways in sets if ways.runs[way]]
    slower = [f"{ways.label} ({number(ways.ratio('race', way))})" for ways in sets if ways.ratio("race", way) > limit]
    return target(text, sets, slower)


def never_worse(sets):
    sets = [ways for ways in sets if ways.runs["one"] and ways.runs["race"]]
    worse = []
    for ways in sets:
        excess = ways.gaps("race") - np.median(ways.gaps("one"))
        if (n := int((excess > REACHED).sum())) > 0:
            worse.append(f"{ways.label} ({n} of {len(excess)} seeds, by up to {excess.max():.1g})")
    return target(f"Its result is never more than {REACHED:g} nats per row below that of the median single start, for any seed", sets, worse)


def targets(results):
    sets = [Ways(data) for data in results["sets"]]
    many = [ways for ways in sets if ways.has_many_rows]
    few = [ways for ways in sets if not ways.has_many_rows]
    huge = [ways for ways in sets if ways.data["n_rows"] >= HUGE]
    return "\n".join(
        [
            often_enough(sets),
            as_often_as_ten(sets),
            faster(f"With at least {MANY} rows per parameter, its median time is at most that of one start", many, "one", 1),
            faster(f"With at least {MANY} rows per parameter, its median time is at most a tenth of that of ten starts", many, "ten", 0.1),
            faster("With 10⁷ rows, its median time is at most a quarter of that of one start", huge, "one", 0.25),
            faster(f"With fewer than {MANY} rows per parameter, its median time is at most that of three starts", few, "one", 3),
            never_worse(sets),
        ]
    )


def seeds(results):
    """How many seeds each way has, and what scikit-learn skipped."""
    counts = {way: sorted({len(runs) for data in results["sets"] if (runs := Ways(data).runs[way])}) for way in panel.WAYS}
    told = [f"{panel.WAYS[way]} {' or '.join(map(str, n))}" for way, n in counts.items() if n]
    text = f"Seeds per set: {'; '.join(told)}."
    skipped = [f"{Ways(data).label} ({data['skipped']['scikit-learn']})" for data in results["sets"] if "scikit-learn" in data["skipped"]]
    return f"{text} scikit-learn is run on generated sets of up to 10⁵ rows, except {'; '.join(skipped)}." if skipped else text


def when(results):
    """The days and the versions of all sets; usually one of each."""
    days = sorted({data["date"] for data in results["sets"]})
    versions = {}
    for data in results["sets"]:
        for name, version in data["versions"].items():
            versions.setdefault(name, set()).add(version)
    told = ", ".join(f"{name} {' and '.join(sorted(kept))}" for name, kept in versions.items())
    hardware = results["machine"]
    return f"{' to '.join(dict.fromkeys([days[0], days[-1]]))}, {hardware['processor']} with {hardware['cores']} cores ({', '.join(hardware['vectors'])}), {told}"


INTRODUCTION = """\
`bench/race` fits every set below for several seeds in four ways, and writes this page: {when}.

- **One start**: EM from one k-means++ start, until the mean log-likelihood changes by less than 1e-6 nats per row.
- **Ten starts**: the best of ten such starts, each on all rows.
- **Race**: the defaults. Eight starts compete on growing samples of the rows, and the winner is fitted to all rows with `auto`.
- **scikit-learn**: `GaussianMixture` with `n_init=10` and `tol=1e-6`, which begins with k-means.

All have a limit of 3000 rounds. On generated sets, EM is also run from the mixture that the rows were drawn from. The best known likelihood of a set is the highest of all these runs, and a run has reached it if it is at most {reached:g} nats per row lower. {seeds}

Only the fit is timed, in one process with the rows in memory and all cores; the ways take turns. Rounds are in units of passes over all rows: on a sample, a round counts its share of the rows, and restarts and moves of components that failed are included."""

COLUMNS = (
    "Generated sets are (D, K, c): columns, components and separation (`mixtura generate`). In unbalanced ones, the largest "
    "component has ten times the rows of the smallest. p is the number of free parameters. Covertype and ALOI are scaled "
    "to [0, 1]; with D = 5, Covertype has its first five columns. Times are ratios of medians, rounds are medians, and gaps are in nats per row."
)


def page(results):
    parts = [
        "# Races compared with restarts",
        INTRODUCTION.format(when=when(results), reached=REACHED, seeds=seeds(results)),
        "![Distance to the best known likelihood against time, for every run](race-panel.svg)",
        "## Targets",
        targets(results),
        "## Results",
        COLUMNS,
    ]
    for group, title in GROUPS.items():
        sets = [data for data in results["sets"] if data["group"] == group]
        if sets:
            parts += [f"### {title}", table(sets)]
    return "\n\n".join(parts) + "\n"


def draw(results):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mixtura", "font.family": "sans-serif"})
    sets = [Ways(data) for data in results["sets"]]
    n_columns = min(4, len(sets))
    n_lines = -(-len(sets) // n_columns)
    # Margins in inches.
    left, right, top, bottom, width, height = 0.85, 0.15, 0.8, 0.6, 2.5, 1.75
    size = (left + width * n_columns + right, top + height * n_lines + bottom)
    figure, axes = plt.subplots(n_lines, n_columns, figsize=size, sharex=True, sharey=True, squeeze=False)
    figure.subplots_adjust(
        left=left / size[0], right=1 - right / size[0], top=1 - top / size[1], bottom=bottom / size[1], wspace=0.12, hspace=0.5
    )
    used = [way for way in MARKS if any(ways.runs[way] for ways in sets)]
    handles = {}
    for place, axis in enumerate(axes.flat):
        if place >= len(sets):
            axis.set_visible(False)
            continue
        ways = sets[place]
        for way in used:
            colour, mark = MARKS[way]
            times, gaps = ways.seconds(way) / ways.median("one", "seconds"), ways.gaps(way)
            (handles[way],) = axis.plot(times, gaps, mark, color=colour, markersize=4, alpha=0.75, markeredgewidth=0, clip_on=False)
        axis.axhline(REACHED, color="black", linewidth=0.6, linestyle=":")
        axis.axvline(1, color="black", linewidth=0.6, linestyle=":")
        axis.set_title(f"{ways.data['title']}\n{ways.data['size']} rows", fontsize=7.5, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7)
        if place + n_columns >= len(sets):
            axis.tick_params(labelbottom=True)
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_yscale("symlog", linthresh=1e-4, linscale=0.6)
    axes[0, 0].set_ylim(bottom=0)
    # Up to the first power of ten above all gaps.
    largest = max(ways.gaps(way).max() for ways in sets for way in used if ways.runs[way])
    n_ticks = 2 + sum(10.0 ** (n - 4) < largest for n in range(len(TICKS) - 2))
    axes[0, 0].set_yticks([0, *(10.0 ** (n - 4) for n in range(n_ticks - 1))], TICKS[:n_ticks])
    axes[0, 0].xaxis.set_major_locator(LogLocator(base=10))
    axes[0, 0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[0, 0].yaxis.set_minor_locator(plt.NullLocator())
    centre = (left + width * n_columns / 2) / size[0]
    figure.supxlabel("time, relative to the median of one start", fontsize=9, x=centre, y=0.12 / size[1], va="bottom")
    figure.supylabel("log-likelihood below the best known,\nnats per row", fontsize=9, x=0.08 / size[0], ha="left")
    names = [panel.WAYS[way] for way in handles]
    figure.legend(handles.values(), names, loc="upper center", ncols=len(names), frameon=False, fontsize=9)
    return figure


def main():
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    (folder / "race-panel.md").write_text(page(results))
    figure = draw(results)
    figure.savefig(folder / "race-panel.svg", metadata={"Date": None, "Creator": None})
    if "--png" in sys.argv:
        figure.savefig(folder / "race-panel.png", dpi=130)


if __name__ == "__main__":
    main()
