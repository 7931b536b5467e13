"""Measures how far answers lie from EM's, and writes page and figure about them.

Runs in the base environment: answers.py distances RAW RESULTS CACHE, answers.py page RESULTS FOLDER.
"""

import json
import pathlib
import sys

import numpy as np

BASE = "em"
# Answers within so many nats a row count as equal.
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
# Of the Okabe–Ito palette, told apart by every kind of colour vision.
COLOURS = {"sem-last": "#E69F00", "sem-best": "#D55E00", "sem-average": "#CC79A7", "saem": "#009E73", "auto": "#0072B2"}


def difference(model, base):
    """Largest differences between matched components: weight, mean and covariance.

    Means in standard deviations of the base's component (Mahalanobis), covariances as the Frobenius
    norm of W S Wᵀ − 1 over √D, W whitening the base's component.
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
    """Seconds until the likelihood of a round first comes within `EQUAL` of the goal; none if never."""
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
    """A line for each way: how far from EM, in likelihood and parameters."""
    lines = ["| answer | log-likelihood less EM's, nats a row: median | least | greatest | weight | mean | covariance | rounds |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for way, title in TITLES.items():
        answers = [start[way] for start in data["starts"]]
        gains = [answer["gain"] for answer in answers]
        parts = [cell(median([answer["difference"][part] for answer in answers])) for part in ("weight", "mean", "covariance")]
        rounds = f"{median([answer['rounds'] for answer in answers]):.0f}"
        lines.append(f"| {title} | {median(gains):+.1e} | {min(gains):+.1e} | {max(gains):+.1e} | {' | '.join(parts)} | {rounds} |")
    return "\n".join(lines)


def outcomes_table(results):
    lines = ["| data | answer | better | equal | worse | largest gain | largest loss |", "|---|---|---:|---:|---:|---:|---:|"]
    for data in results["sets"]:
        for way in ["sem-average", "saem", "auto", "auto-accelerated"]:
            gains = [start[way]["gain"] for start in data["starts"]]
            better, worse = sum(gain > EQUAL for gain in gains), sum(gain < -EQUAL for gain in gains)
            lines.append(
                f"| {data['title']} | {TITLES[way]} | {better} | {len(gains) - better - worse} | {worse} | {max(max(gains), 0):.1e} | {max(-min(gains), 0):.1e} |"
            )
    return "\n".join(lines)


def times_table(results):
    """Time to EM's solution as a share of EM's own, and of whole runs."""
    lines = [
        "| data | way | rounds, median | whole run, s | of EM's | there after, s | of EM's whole run | starts that got there |",
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
        "# What SEM answers, and how far that is from EM",
        f"`bench/answers` fits four data sets from {n_starts} k-means++ starts each (seeds 0 to {n_starts - 1}) in every way below, at a tolerance of {results['tolerance']:g} nats a row, and writes this page: {results['date']}, {hardware['processor']} with {hardware['cores']} cores ({', '.join(hardware['vectors'])}), {versions}. Covertype and ALOI are normalised to [0, 1] for the fit. SAEM runs {results['saem_rounds']} rounds.",
        "![Likelihood of every answer less EM's from the same start](sem-answers.svg)",
        "## Distance to EM's solution",
        "Each answer beside EM's from the same start, components matched by their means. Differences are the largest over components, then the median over starts: weights as they are, means in standard deviations of EM's component, covariances relative to EM's (1 is as large as the covariance itself). A start from which the two climb different maxima has large differences; the median hides few of those, and the extremes of the likelihood show them.",
    ]
    for data in results["sets"]:
        parts += [f"### {data['title']}", answers_table(data)]
    parts += [
        "## Better, equal or worse than EM",
        f"Counts over {n_starts} starts; equal is within {EQUAL:g} nats a row.",
        outcomes_table(results),
        "## Time to EM's solution",
        f"Time of all rounds, medians over the starts. EM's solution counts as reached when the likelihood of a round is within {EQUAL:g} nats a row of where EM ended, or higher; a way that ends on another, lower maximum never gets there.",
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
    axes[-1, 0].set_xlabel("log-likelihood less EM's from the same start, nats a row (right: better than EM)", fontsize=9)
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
