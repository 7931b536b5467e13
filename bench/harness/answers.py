"""Measures how far results are from EM's, and writes the page and the figure about them.

Runs in the base environment: answers.py distances RAW RESULTS CACHE, answers.py page RESULTS FOLDER.
"""

import json
import pathlib
import sys

import numpy as np

BASE = "em"
# Results count as equal if they differ by less than this, in nats per row.
EQUAL = 1e-4
TITLES = {
    "em": "EM",
    "em-accelerated": "EM, accelerated",
    "sem-last": "SEM, last",
    "sem-best": "SEM, best",
    "sem-average": "SEM, average",
    "saem": "SAEM",
    "auto": "auto",
    "auto-accelerated": "auto, accelerated",
}
# From the Okabe–Ito palette, distinguishable with any colour vision.
COLOURS = {"sem-last": "#E69F00", "sem-best": "#D55E00", "sem-average": "#CC79A7", "saem": "#009E73", "auto": "#0072B2"}


def difference(model, base):
    """Largest differences between matched components: weight, mean and covariance.

    Means are in standard deviations of the base's component (Mahalanobis distance), covariances are the
    Frobenius norm of W S Wᵀ − 1 divided by √D, where W whitens the base's component.
    """
    from scipy.optimize import linear_sum_assignment

    weights, means, covariances = (np.array(model[name]) for name in ("weights", "means", "covariances"))
    base_weights, base_means, base_covariances = (np.array(base[name]) for name in ("weights", "means", "covariances"))
    whiten = np.linalg.inv(np.linalg.cholesky(base_covariances))
    shifts = np.einsum("kij,kmj->kmi", whiten, means[None, :, :] - base_means[:, None, :])
    distances = np.linalg.norm(shifts, axis=2)
    ours, theirs = linear_sum_assignment(distances)
    whitened = np.einsum("kij,kjl,kml->kim", whiten[ours], covariances[theirs], whiten[ours])
    excess = whitened - np.eye(means.shape[1])
    return {
        "weight": float(np.abs(weights[theirs] - base_weights[ours]).max()),
        "mean": float(distances[ours, theirs].max()),
        "covariance": float((np.linalg.norm(excess, axis=(1, 2)) / np.sqrt(means.shape[1])).max()),
    }


def reached(answer, goal):
    """Seconds until the likelihood of a round first comes within `EQUAL` of the goal; None if never."""
    seconds = np.cumsum(answer["seconds"])
    there = np.flatnonzero(np.array(answer["likelihoods"]) >= goal - EQUAL)
    if len(there):
        return float(seconds[there[0]])
    return float(seconds[-1]) if answer["mean_log_likelihood"] >= goal - EQUAL else None


def distances(raw, output, cache):
    results = json.loads(pathlib.Path(raw).read_text())
    for data in results["sets"]:
        for start in data["starts"]:
            goal = start[BASE]["mean_log_likelihood"]
            base = json.loads((pathlib.Path(cache) / start[BASE]["model"]).read_text())
            for answer in start.values():
                model = json.loads((pathlib.Path(cache) / answer.pop("model")).read_text())
                answer["gain"] = answer["mean_log_likelihood"] - goal
                answer["difference"] = difference(model, base)
                answer["seconds_to_goal"] = reached(answer, goal)
                answer["seconds"] = sum(answer["seconds"])
                del answer["likelihoods"]
    pathlib.Path(output).write_text(json.dumps(results, indent=1) + "\n")


def median(values):
    return float(np.median(values)) if len(values) else float("nan")


def cell(value):
    return f"{value:.2g}" if value else "0"


def answers_table(data):
    """One line per method: its distance from EM in likelihood and parameters."""
    lines = ["| result | log-likelihood minus EM's, nats per row: median | min | max | weight | mean | covariance | rounds |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for way, title in TITLES.items():
        answers = [start[way] for start in data["starts"]]
        gains = [answer["gain"] for answer in answers]
        parts = [cell(median([answer["difference"][part] for answer in answers])) for part in ("weight", "mean", "covariance")]
        rounds = f"{median([answer['rounds'] for answer in answers]):.0f}"
        lines.append(f"| {title} | {median(gains):+.1e} | {min(gains):+.1e} | {max(gains):+.1e} | {' | '.join(parts)} | {rounds} |")
    return "\n".join(lines)


def outcomes_table(results):
    lines = ["| data | result | better | equal | worse | largest gain | largest loss |", "|---|---|---:|---:|---:|---:|---:|"]
    for data in results["sets"]:
        for way in ["sem-average", "saem", "auto", "auto-accelerated"]:
            gains = [start[way]["gain"] for start in data["starts"]]
            better, worse = sum(gain > EQUAL for gain in gains), sum(gain < -EQUAL for gain in gains)
            lines.append(
                f"| {data['title']} | {TITLES[way]} | {better} | {len(gains) - better - worse} | {worse} | {max(max(gains), 0):.1e} | {max(-min(gains), 0):.1e} |"
            )
    return "\n".join(lines)


def times_table(results):
    """Time to EM's solution and time of whole runs, relative to EM's."""
    lines = [
        "| data | method | rounds, median | whole run, s | relative to EM's | time to EM's solution, s | relative to EM's whole run | starts that reached it |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for data in results["sets"]:
        starts = data["starts"]
        for way in ["em", "em-accelerated", "auto", "auto-accelerated"]:
            whole = [start[way]["seconds"] for start in starts]
            shares = [start[way]["seconds"] / start[BASE]["seconds"] for start in starts]
            there = [start for start in starts if start[way]["seconds_to_goal"] is not None]
            to_goal = [start[way]["seconds_to_goal"] for start in there]
            of_em = [start[way]["seconds_to_goal"] / start[BASE]["seconds"] for start in there]
            rounds = median([start[way]["rounds"] for start in starts])
            lines.append(
                f"| {data['title']} | {TITLES[way]} | {rounds:.0f} | {median(whole):.2f} | {median(shares):.2f} | {median(to_goal):.2f} | {median(of_em):.2f} | {len(there)} of {len(starts)} |"
            )
    return "\n".join(lines)


def page(results):
    n_starts = len(results["sets"][0]["starts"])
    hardware = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = [
        "# SEM's results compared with EM's",
        f"`bench/answers` fits four data sets from {n_starts} k-means++ starts each (seeds 0 to {n_starts - 1}) with every method below, at a tolerance of {results['tolerance']:g} nats per row, and writes this page: {results['date']}, {hardware['processor']} with {hardware['cores']} cores ({', '.join(hardware['vectors'])}), {versions}. Covertype and ALOI are scaled to [0, 1] for the fit. SAEM runs {results['saem_rounds']} rounds.",
        "![Log-likelihood of every result minus EM's from the same start](sem-answers.svg)",
        "## Distance to EM's solution",
        "Each result is compared with EM's from the same start, with components matched by their means. Differences are the maximum over components, then the median over starts: absolute for weights, in standard deviations of EM's component for means, relative to EM's for covariances (1 means as large as the covariance itself). Starts from which the two reach different maxima have large differences; a few of them do not affect the median, but show in the extremes of the likelihood.",
    ]
    for data in results["sets"]:
        parts += [f"### {data['title']}", answers_table(data)]
    parts += [
        "## Better, equal or worse than EM",
        f"Counts over {n_starts} starts; equal means within {EQUAL:g} nats per row.",
        outcomes_table(results),
        "## Time to EM's solution",
        f"Time of all rounds, medians over the starts. EM's solution counts as reached when the log-likelihood of a round is within {EQUAL:g} nats per row of EM's final value, or higher. A method that ends at a different, lower maximum never reaches it.",
        times_table(results),
    ]
    return "\n\n".join(parts) + "\n"


def draw(results):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mixtura", "font.family": "sans-serif"})
    sets = results["sets"]
    figure, axes = plt.subplots(len(sets), 1, figsize=(7.5, 1.75 * len(sets) + 0.6), sharex=True, squeeze=False, layout="constrained")
    for axis, data in zip(axes.flat, sets):
        for place, (way, colour) in enumerate(COLOURS.items()):
            gains = np.array([start[way]["gain"] for start in data["starts"]])
            spread = (np.arange(len(gains)) / max(len(gains) - 1, 1) - 0.5) * 0.6
            axis.plot(gains, place + spread, "o", color=colour, markersize=3.5, alpha=0.8)
        axis.set_xscale("symlog", linthresh=1e-6, linscale=0.5)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(range(len(COLOURS)), [TITLES[way] for way in COLOURS], fontsize=8)
        axis.set_ylim(len(COLOURS) - 0.4, -0.6)
        axis.set_title(data["title"], fontsize=9, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="x", labelsize=8)
    axes[-1, 0].set_xlabel("log-likelihood minus EM's from the same start, nats per row (right: better than EM)", fontsize=9)
    return figure


def main():
    command, *paths = sys.argv[1:]
    if command == "distances":
        distances(*paths)
        return
    results = json.loads(pathlib.Path(paths[0]).read_text())
    folder = pathlib.Path(paths[1])
    (folder / "sem-answers.md").write_text(page(results))
    draw(results).savefig(folder / "sem-answers.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
