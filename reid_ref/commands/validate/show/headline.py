"""The first lines of the answer: what prints the figure, what is impossible, what checks it."""
from collections.abc import Iterator, Sequence
from itertools import groupby

from reid_ref.analysis.validate import Validation, Way
from reid_ref.analysis.validate.candidates import best_known, names_by_default
from reid_ref.analysis.validate.search import ACCIDENTS, FoundWay
from reid_ref.conventions import CONVENTIONS, NAMES
from reid_ref.datasets.published import nearest
from reid_ref.protocols.records import part_named
from reid_ref.rules.candidates import rules_of_protocols

#: A ranking of features in words.
RANKED = {"normalised": "normalised features", "Euclidean": "raw features, by Euclidean distance",
          "dot": "raw features, by dot product"}
#: The options that rank so.
_OPTIONS = {"normalised": " --normalize", "Euclidean": " --metric euclidean --no-normalize",
            "dot": " --metric dot --no-normalize"}
#: What changes a number and is in no file of features, with sizes where a thread has one.
NOT_IN_A_FILE = (
    "another version of the set (MSMT17 V2 has blurred faces: 1.7 points of mAP)",
    "another checkpoint or configuration, or weights that were not loaded",
    "the size of the images; mirror images added to the features",
    "the layer, before or after the BN neck, or the wrong branch of a network of two modalities",
    "half precision, or the GPU of the training (61 or 58 mAP)",
    "the number of GPUs, or statistics of batches, in the test",
    "training sets that were merged, or that have identities of the test")


def headline(answer: Validation, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the rows: the answer, what is possible, and the command that checks it."""
    search, check = answer.search, ""
    groups = by_variations(search.ways) if search and search.tells else []
    best = answer.best
    if answer.figure.over:
        yield "answer", (f"impossible: {answer.figure.over}, over 100 percent, as of a sum over "
                         "parts, folds or views that was divided by too few")
        return
    if best is not None and answer.reproduced:
        yield "answer", _printed_by(best, answer) + _share(answer.by_accident)
        check = _evaluation(best, files)
    elif groups:
        yield "answer", found_words(groups) + _share(search.by_accident if search else 0)
        check = check_of(groups[0][0], files)
    elif best is not None and answer.closest is not None:
        yield "answer", (
            f"nearly printed by {_name(best)}: {answer.closest.difference:.2f} points off, the "
            f"next {answer.closest.next:.2f}; another decoder, resizing or machine moves a "
            "network that much" + _share(answer.closest.accidents)
            + "; or its digits were cut off" * (answer.candidates[0].match == "truncated"))
        check = _evaluation(best, files)
    elif best is not None:
        yield "answer", _nothing(answer, best)
        check = f"reid-ref doctor {' '.join(files)}"
    yield "possible", possible_words(answer)
    if check:
        yield "check", check


def by_variations(ways: Sequence[FoundWay]) -> list[list[FoundWay]]:
    """Return the ways of each variation, those of the toolbox that re-ranks so first."""
    return [sorted(group, key=_is_another_s) for _, group in groupby(
        ways, lambda way: way.variations)]


def _is_another_s(way: FoundWay) -> bool:
    """Whether a way re-ranks as another toolbox than the one whose convention it has."""
    record = CONVENTIONS.get(way.convention)
    own = record.reranking if record else None
    return own is None or f"reranked-{own.variant}" not in way.variations


def _share(share: float) -> str:
    """Return how often accident meets such a figure."""
    text = "less than 0.1" if share < .001 else f"{100 * share:.1f}"
    doubt = "; too many to call it the cause" * (share > ACCIDENTS)
    return f" ({text} percent of random figures near it would be, too{doubt})"


def _name(way: Way | FoundWay) -> str:
    """Return who ranks so and counts by such a rule, as people know them."""
    if way.convention in rules_of_protocols():
        return "the rule of " + ", ".join(rules_of_protocols()[way.convention][1])
    on = f" on {RANKED[way.features]}" if way.features in RANKED else ""
    if way.convention in NAMES:
        on = (" without its loader (images labelled -1 are wrong answers)" * way.convention.endswith(
            "-function") + " (cameras not looked at)" * (
            not CONVENTIONS[way.convention].needs_cameras)) + on
    if way.convention not in NAMES and part_named(way.convention) is not None:
        return f"protocol {way.convention.removesuffix('-all')}{on}"
    names = names_by_default(way.convention, way.features)
    if isinstance(way, FoundWay) and any(name.startswith("reranked") for name in way.variations):
        return f"{way.convention}'s rule"
    if names in ([], [way.convention]):
        return f"{way.convention}'s rule{on}" + ", which are not its own" * (
            not names and way.convention in NAMES)
    of = f" ({way.convention}'s rule{on})" * (names[0] != way.convention or len(names) > 1)
    return ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3) + of


def _printed_by(way: Way, answer: Validation) -> str:
    steps = "; ".join(f"{step.words} ({step.points:+.2f})" for step in answer.effects)
    return f"printed by {_name(way)}" + (f". From matlab's mAP: {steps}" if steps else "")


def found_words(groups: list[list[FoundWay]]) -> str:
    """Return in words what prints the figure, of the ways of each variation."""
    texts = [f"{_name(ways[0])} {ways[0].words}" for ways in groups]
    if len(groups) == 1:
        return f"printed by {texts[0]}"
    if all(all(name.startswith("reranked") for name in ways[0].variations) for ways in groups):
        return (f"printed after re-ranking; which code, these digits do not show: {len(groups)} "
                f"print it, first {texts[0]}")
    return (f"{len(groups)} variations print it, none known to be the cause: "
            + "; or ".join(texts[:3]))


def _nothing(answer: Validation, best: Way) -> str:
    search, figure = answer.search, answer.figure
    if answer.swapped:
        return (f"probably swapped: mAP is above Rank-1, and --published {figure.mAP}/"
                f"{figure.rank1} fits")
    if answer.candidates[0].match == "another protocol":
        return f"its protocol does not print it; {_name(best)} would, which is no match"
    texts = [answer.labels] * bool(answer.labels) + ["no convention prints it" if search is None else
             f"none of {search.tried:,} ways prints it" if not search.ways else
             f"no cause can be named: {len({way.variations for way in search.ways})} variations "
             f"print it, but so would some of {100 * search.by_accident:.1f} percent of random "
             "figures near it"]
    if answer.candidates[0].match == "truncated":
        texts.append(f"Cut off, not rounded, it is that of {_name(best)}")
    for name, ways in answer.alone.items():
        way = best_known(ways)
        rest = next(one for one in answer.candidates if way in one.ways).numbers()
        others = ", ".join(f"{other} is {100 * rest[other]:.2f}"
                           for other in figure.numbers() if other != name)
        texts.append(f"{name} alone is that of {_name(way)}, whose {others}")
    return ". ".join(texts)


def possible_words(answer: Validation) -> str:
    """Return what is impossible, or that nothing is."""
    figure = answer.figure
    if answer.reproduced and not answer.possible:
        return "yes, over the queries that its rule counts"
    hits = [counts for counts in answer.hit_counts if counts.rounding != "no"]
    texts = []
    if answer.hit_counts and not hits:
        over = " or ".join(f"{counts.n_query:,}" for counts in answer.hit_counts)
        texts.append(f"impossible as a count of {over} queries: the nearest are "
                     f"{nearest(answer.hit_counts[-1])}; a mean over random galleries or over "
                     "parts is no count")
    elif answer.bounds and all(bounds.holds is False for bounds in answer.bounds):
        least = 100 * min(bounds.low for bounds in answer.bounds)
        most = 100 * max(bounds.high for bounds in answer.bounds)
        texts.append(f"impossible: mAP {figure.mAP} where Rank-1 allows {least:.2f} to {most:.2f}")
    else:
        texts += [f"yes, Rank-1 is {counts.fewest:,} of {counts.n_query:,} queries"
                  for counts in hits[:1] if counts.fewest == counts.most] or ["yes"]
    return "; ".join(texts)


def _evaluation(way: Way, files: Sequence[str]) -> str:
    """Return the command that prints the numbers of a way without variations."""
    start = f"reid-ref evaluate {' '.join(files)}"
    rules = rules_of_protocols()
    name = rules[way.convention][1][0].replace(" (", "-").rstrip(")") if (
        way.convention in rules) else way.convention
    selection = part_named(name) if way.convention not in NAMES else None
    if selection is not None:
        return f"{start} --protocol {selection[0].name} --part {selection[1].name}"
    own = names_by_default(way.convention, way.features)
    options = _OPTIONS.get(way.features, "")
    return f"{start} --convention {own[0] if own else way.convention + options}"


def check_of(way: FoundWay, files: Sequence[str]) -> str:
    """Return the command that prints the numbers of a way with variations."""
    if way.options:
        return "reid-ref " + way.options.replace("FILE", " ".join(files), 1)
    return "" if len(way.variations) > 1 else (
        f"reid-ref explain {' '.join(files)} --from {way.convention} --to {way.variations[0]}"
        + _OPTIONS.get(way.features, ""))
