"""The first lines of the answer: what prints the figure, what is impossible, what checks it."""
from collections.abc import Iterator, Sequence
from itertools import groupby

from reid_ref.analysis.validate import Validation
from reid_ref.analysis.validate.candidates import WORDS, Way, best_known, names_by_default
from reid_ref.analysis.validate.search import ACCIDENTS, AROUND, MOVED, FoundWay, Search
from reid_ref.conventions import CONVENTIONS, NAMES
from reid_ref.datasets.published import hit_counts, nearest
from reid_ref.protocols.record import Given
from reid_ref.protocols.records import part_named
from reid_ref.rules.candidates import rules_of_protocols


def headline(answer: Validation, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the rows: the answer, what is possible, and the command that checks it."""
    search, closest, best = answer.search, answer.closest, answer.best
    groups = _causes(search) if search else []
    if answer.figure.over or best is None:
        yield "answer", WORDS["answers"]["over"].format(answer.figure.over)
        return
    check = _evaluation(best, files)
    if answer.reproduced:
        steps = "; ".join(f"{step.words} ({step.points:+.2f})" for step in answer.effects)
        yield "answer", (f"printed by {name_of(best)}" + _share(answer.by_accident)
                         + _others_near(answer) * (answer.by_accident > ACCIDENTS)
                         + f". Steps from matlab's mAP: {steps}" * bool(steps))
    elif search is not None and groups and search.tells:
        alike = all(way.variations[0].startswith("reranked") for way in search.ways)
        start = "printed " if len(groups) == 1 else (
            f"{len(groups)} variations print it, {WORDS['several'][alike]}: ")
        yield "answer", start + found_words(groups) + _share(search.by_accident)
        check = check_of(groups[0][0], files)
    elif closest is not None:
        yield "answer", WORDS["answers"]["nearly"].format(
            name_of(best), closest, _share(closest.accidents)) + (
            "; or its digits were cut off" * (answer.candidates[0].match == "truncated"))
    elif answer.exchanged is not None:
        way, exchanged = best_known(answer.exchanged.ways), answer.exchanged
        others = ", ".join(f"{name} is its {measure}" for name, measure in
                           exchanged.measures.items() if exchanged.errors or name != measure)
        yield "answer", WORDS["answers"]["errors" if exchanged.errors else "exchanged"].format(
            name_of(way), others) + _share(exchanged.accidents)
        check = _evaluation(way, files)
    else:
        yield "answer", ". ".join(
            text[0].upper() + text[1:] if place and not text.startswith("mAP ") else text
            for place, text in enumerate(_nothing(answer, best)))
        nearest = search and search.nearest
        told = [nearest.way] if nearest else [*search.ways] if search else []
        check = check_of(told[0], files) if told else f"reid-ref doctor {' '.join(files)}"
    yield "possible", _possible(answer)
    yield from [("check", check)] * bool(check)


def by_variations(ways: Sequence[FoundWay]) -> list[list[FoundWay]]:
    """Return the ways of each variation, those of the toolbox that re-ranks so first."""
    own = {name: f"reranked-{record.variant}" for name in NAMES
           if (record := CONVENTIONS[name].reranking)}
    return [sorted(group, key=lambda way: own.get(way.convention) not in way.variations)
            for _, group in groupby(ways, lambda way: way.variations)]


def _causes(search: Search) -> list[list[FoundWay]]:
    """Return the ways of each variation, as one cause where they do the same."""
    groups = by_variations(search.ways)
    if search.n_results == 1:
        done = ", or ".join([*dict.fromkeys(ways[0].words for ways in groups)][:3])
        groups = [[groups[0][0]._replace(words=done)]]
    return groups


def _share(share: float) -> str:
    """Return how often accident meets such a figure."""
    text = "less than 0.1" if share < .001 else f"{100 * share:.1f}"
    doubt = ", so it may be one" * (share > ACCIDENTS)
    return f"; chance of an accident: {text} percent{doubt}"


def _others_near(answer: Validation) -> str:
    """Return which other convention is as near as features made again would be."""
    others = {way: one.difference for one in answer.candidates for way in one.ways
              if one.match in ("truncated", "no") and one.difference <= MOVED}
    return WORDS["answers"]["also near"].format(
        name_of(way := best_known(others)), others[way]) if others else ""


def name_of(way: Way | FoundWay) -> str:
    """Return who ranks so and counts by such a rule, as people know them."""
    name, words = way.convention, WORDS["ranked"].get(way.features, "")
    on = f" on {words}" * bool(words)
    if name in rules_of_protocols():
        return "the rule of " + ", ".join(rules_of_protocols()[name][1])
    if name not in NAMES:
        part, comma, trial = name.partition(",")
        return f"protocol {part.removesuffix('-all')}{comma}{trial}{on}" if part_named(part) else (
            f"{name}{on}")
    rule = f"{name}'s rule".replace("-cython's rule", "'s rule in Cython") + (
        " (cameras not looked at)" * (not CONVENTIONS[name].needs_cameras))
    known = names_by_default(name, way.features)
    if isinstance(way, FoundWay) and any(each.startswith("reranked") for each in way.variations):
        return rule
    if known in ([], [name]):
        return rule + ", but" * (not known) + on
    more = f" and {len(known) - 3} more" * (len(known) > 3)
    return f"{', '.join(known[:3])}{more} ({rule}{on})".replace("-cython", "")


def found_words(groups: Sequence[Sequence[FoundWay]]) -> str:
    """Return in words what prints the figure, of the ways of each variation."""
    return "; or ".join(f"{ways[0].words}, by {name_of(ways[0])}" for ways in groups[:3])


def _nothing(answer: Validation, best: Way) -> Iterator[str]:
    """Yield what is known of a figure that nothing prints, or too much."""
    search, figure = answer.search, answer.figure
    if answer.labels:
        yield answer.labels
    if answer.swapped:
        yield WORDS["answers"]["swapped"].format(figure)
    if answer.candidates[0].match == "another protocol":
        yield f"its protocol does not print it; {name_of(best)} would, which is no match"
    elif search is not None and search.ways:
        yield WORDS["answers"]["alone" if search.is_alone else "accidents"].format(
            100 * search.by_accident, found_words(_causes(search)))
    else:
        tried = "no convention" if search is None else f"none of {search.tried:,} ways"
        off, nearest = answer.candidates[0].difference, search and search.nearest
        if nearest:
            yield f"{tried} prints it; " + WORDS["answers"]["drawn"].format(
                found_words([[nearest.way]]), nearest.difference)
        else:
            yield f"{tried} prints it" + f"; {name_of(best)} is {off:.2f} points off" * (
                off <= AROUND and not answer.alone)
    if answer.candidates[0].match == "truncated":
        yield f"Cut off, not rounded, it is that of {name_of(best)}"
    for name, one in answer.alone.items():
        yield f"{name} alone is that of {name_of(best_known(one.ways))}, which gives " + ", ".join(
            f"{other} {100 * one.numbers()[other]:.2f}" for other in figure.numbers()
            if other != name) + _share(answer.accidents_of({name: figure.numbers()[name]}))
    for one in answer.candidates:
        selection = part_named(one.ways[0].convention) if one.difference < AROUND else None
        if selection is not None and not isinstance(selection[0].trials, Given):
            yield WORDS["answers"]["drawn"].format(name_of(one.ways[0]), one.difference)


def _possible(answer: Validation) -> str:
    """Return what is impossible, or that nothing is."""
    search = answer.search
    named = [answer.counted] if answer.counted else [  # of what is named
        way.counted for way in (search.ways if search else ())[:1]]
    own = [] if answer.figure.rank1 is None else [
        hit_counts(answer.figure.rank1, counted) for counted in named]
    hits = [counts for counts in (*own, *answer.hit_counts) if counts.rounding != "no"]
    printed = answer.reproduced or search and search.ways and search.tells
    if answer.hit_counts and not hits and not printed:
        return str(WORDS["answers"]["no count"].format(
            " or ".join(f"{counts.n_query:,}" for counts in answer.hit_counts),
            nearest(answer.hit_counts[-1])))
    if answer.bounds and all(bounds.holds is False for bounds in answer.bounds):
        least = 100 * min(bounds.low for bounds in answer.bounds)
        most = 100 * max(bounds.high for bounds in answer.bounds)
        start = "yes, in this way alone" if printed else f"impossible: mAP {answer.figure.mAP}"
        return (f"{start}; with this Rank-1 the usual rules of AP allow mAP {least:.2f} to "
                f"{most:.2f}")
    verb = "is" if any(counts.rounding != "no" for counts in own) else "could be"
    return "yes" + "".join(f", Rank-1 {verb} {counts.fewest:,} of {counts.n_query:,} queries"
                           for counts in hits[:1] if counts.fewest == counts.most)


def _evaluation(way: Way, files: Sequence[str]) -> str:
    """Return the command that prints the numbers of a way without variations."""
    name, start = way.convention, f"reid-ref evaluate {' '.join(files)}"
    if name in rules_of_protocols():
        name = rules_of_protocols()[name][1][0].replace(" (", "-").rstrip(")")
    selection = None if way.convention in NAMES else part_named(name.partition(",")[0])
    if selection is not None:
        raw = WORDS["options"].get(way.features, "") * (way.features != "normalised")
        trial = " --json" * ("," in way.convention)  # which has the numbers of each
        return f"{start} --protocol {selection[0].name} --part {selection[1].name}{raw}{trial}"
    own = names_by_default(name, way.features)
    options = WORDS["options"].get(way.features, "")
    return f"{start} --convention {own[0] if own else name + options}"


def check_of(way: FoundWay, files: Sequence[str]) -> str:
    """Return the command that prints the numbers of a way with variations."""
    if way.convention in rules_of_protocols():
        return ""
    if way.options:
        return "reid-ref " + way.options.replace("FILE", " ".join(files), 1)
    return "" if len(way.variations) > 1 else (
        f"reid-ref explain {' '.join(files)} --from {way.convention} --to {way.variations[0]}"
        + WORDS["options"].get(way.features, ""))
