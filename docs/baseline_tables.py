"""The tables of docs/baselines.md and docs/is_it_better.md, from fixtures/baselines/."""
import tomllib
from functools import cache
from itertools import combinations
from pathlib import Path

import reid_ref
from reid_ref import statistics
from reid_ref.datasets.published import load

FOLDER = Path(__file__).parents[1] / "fixtures/baselines"
NETWORKS = tomllib.loads((FOLDER / "networks.toml").read_text(encoding="utf-8"))
#: Networks whose features are those of another one, but for the images or the precision.
COPIES = {name: table["copy_of"] for name, table in NETWORKS.items() if "copy_of" in table}
#: The convention under which networks are compared.
COMMON = "matlab"
SHORT = "person-reidentification-retail-"


def short(name):
    """Return the name of a network as it stands in a table."""
    return NETWORKS[name].get("short", name.removeprefix(SHORT))


@cache
def result(name, convention=COMMON):
    """Return the saved result of a network under a convention."""
    own = convention == NETWORKS[name]["conventions"][0]
    path = f"reranked/{name}" if convention == "reranked" else (
        name if own else f"{name}-{convention}")
    return reid_ref.load(FOLDER / f"{path}.json.gz")


@cache
def difference(one, other):
    """Return by how much the mAP of another network differs, by identity."""
    baseline, system = result(one), result(other)
    return statistics.difference(
        baseline.of_query("mAP"), system.of_query("mAP"), baseline.per_query.identity)


def points(value, form=".2f"):
    return format(100 * value, form)


def pair(record):
    """Return Rank-1 and mAP of a saved result."""
    return f"{points(record.value('Rank-1'))} / {points(record.mAP)}"


def networks():
    """Return the networks of which results are kept, but for copies."""
    return [name for name in NETWORKS
            if name not in COPIES and (FOLDER / f"{name}.json.gz").exists()]


def distances(name, printed):
    """Return the conventions of a network by how far the printed pair is from ours, in points."""
    def off(convention):
        ours = result(name, convention)
        both = (abs(100 * ours.value("Rank-1") - float(printed.rank1)),
                abs(100 * ours.mAP - float(printed.mAP)))
        return max(both), sum(both)
    return sorted((*off(each), each) for each in NETWORKS[name]["conventions"])


def baselines():
    """Return the table of networks: printed, ours, the difference, the interval."""
    rows = ["| network | printed | nearest convention | ours | difference | 95 % interval of mAP "
            "| `matlab` |", "|---|---|---|---|---|---|---|"]
    published = {record.key: record for record in load()}
    for name in networks():
        for key in NETWORKS[name]["printed"]:
            printed = published[key]
            convention = distances(name, printed)[0][2]
            ours = result(name, convention)
            interval = ours.interval("mAP")
            rows.append(
                f"| {short(name)}{'' if NETWORKS[name].get('complete', True) else ' *'} "
                f"| {printed.rank1} / {printed.mAP} | `{convention}` "
                f"| {pair(ours)} | {100 * ours.value('Rank-1') - float(printed.rank1):+.2f} / "
                f"{100 * ours.mAP - float(printed.mAP):+.2f} "
                f"| {points(interval.low)} .. {points(interval.high)} | {pair(result(name))} |")
    return "\n".join(rows)


def osnet_conventions():
    """Return the table of the first network under every convention that is kept of it."""
    name = networks()[0]
    rows = ["| convention | Rank-1 / mAP | queries that count |", "|---|---|--:|"]
    for convention in NETWORKS[name]["conventions"]:
        ours = result(name, convention)
        rows.append(f"| `{convention}` | {pair(ours)} | {ours.counted:,} |")
    return "\n".join(rows)


def features():
    """Return the table of features as they come, normalised and re-ranked."""
    rows = ["| network | `torchreid`: raw features, step | `fast-reid`: cosine, step "
            "| `matlab`: normalised, trapezoid | the same, re-ranked |", "|---|---|---|---|---|"]
    for name in networks():
        rows.append(" | ".join([f"| {short(name)}", *(pair(result(name, each)) for each in (
            "torchreid", "fast-reid", "matlab", "reranked"))]) + " |")
    return "\n".join(rows)


def weights():
    """Return the table of where weights lie, and their sha256."""
    rows = ["| network | file | sha256 | repository, commit |", "|---|---|---|---|"]
    for name, table in NETWORKS.items():
        for suffix, sha256 in table["weights"].items():
            rows.append(f"| {short(name)} | {Path(table['path']).name}{suffix} | `{sha256[:8]}` | "
                        f"{table['repository']} {table['commit'][:7]} |")
    return "\n".join(rows)


def standard_errors():
    """Return the table of what the test set alone leaves open in one mAP."""
    rows = ["| network | mAP | standard error by query | by identity | 95 % interval |",
            "|---|--:|--:|--:|---|"]
    for name in networks():
        by_query, interval = (result(name).interval("mAP", unit=unit)
                              for unit in ("query", "identity"))
        rows.append(f"| {short(name)} | {points(result(name).mAP)} | {points(by_query.se)} | "
                    f"{points(interval.se)} | {points(interval.low)} .. {points(interval.high)} |")
    return "\n".join(rows)


def pairs():
    """Return the pairs of networks: copies with what they are copies of, and all others."""
    return [*((of, name) for name, of in COPIES.items()), *combinations(networks(), 2)]


def worth():
    """Return the table of pairs, those that are most alike first."""
    rows = ["| pair | difference | standard error | 0.3 points are | smallest detectable |",
            "|---|--:|--:|---|--:|"]
    for one, other in sorted(pairs(), key=lambda each: difference(*each).se):
        test = difference(one, other)
        rows.append(
            f"| {short(one)}, {short(other)} | {points(abs(test.difference))} | "
            f"{points(test.se)} | {.003 / test.se:.1f} standard errors | "
            f"{points(test.detectable)} |")
    return "\n".join(rows)


LISTS = {"baselines": baselines, "raw-and-normalised": features,
         "osnet-conventions": osnet_conventions, "weights": weights,
         "standard-errors": standard_errors, "worth": worth}
