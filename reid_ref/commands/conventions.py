"""`reid-ref conventions`: the named conventions, and what each does differently from matlab."""
import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reid_ref.console.answers import add_json, show_answer
from reid_ref.console.request import Request
from reid_ref.console.words import add_argument
from reid_ref.conventions import (
    ALIASES, ARITHMETIC, CMC_LENGTH, CUT, FUNCTIONS, IGNORED, JUNK_MATCH, LOADS, METRICS, NAMES,
    RECALL, TIES, UNLISTED, UNMATCHED, Convention, every_convention, find_convention)
from reid_ref.rules.candidates import rules_of_protocols
from reid_ref.text import named_rows, wrap


class Record(NamedTuple):
    """A convention as JSON has it, and its differences from matlab."""

    convention: Convention
    differences: tuple[str, ...]


class Records(NamedTuple):
    """All conventions as JSON has them, by name."""

    conventions: dict[str, Record]


def as_list(conventions: Mapping[str, Convention]) -> str:
    """Return one line per convention: AP rule, label -1, queries without a match, CMC."""
    lines = [f"{'convention':32}{'AP':18}{'label -1':9}{'no match':14}CMC"]
    for name, convention in conventions.items():
        if name in FUNCTIONS.values():
            continue
        junk = ("ignored" if "label -1" in convention.ignored else
                "by list" if convention.needs_lists else
                "wrong" if convention.loads == "all images" else "dropped")
        lines.append(f"{name:32}{convention.ap:18} {junk:8} {convention.unmatched:13} "
                     f"{convention.curve.short}")
    lines += ["", "label -1: ignored, wrong (ordinary), by list, or dropped by the loader.",
              *wrap(f"NAME-function is the evaluator alone, without the loader of its toolbox: "
                    f"for {', '.join(FUNCTIONS)}."),
              *wrap(f"Further names, in any case, with - or _: {', '.join(ALIASES)}."),
              "CMC: first matches, all shots, identities, or one image drawn per identity.",
              "reid-ref conventions NAME shows one in full."]
    return "\n".join(lines)


def as_page(convention: Convention) -> str:
    """Return everything about one convention, its choices in words."""
    length, loader, top_k = convention.cmc_length, convention.loader, convention.top_k
    ends = CMC_LENGTH[length].words if isinstance(length, str) else f"at rank {length}, or before"
    name, record = convention.name, NAMES.get(convention.name, convention.name)
    return "\n".join(named_rows([
        ("name", name if name == record else f"{name}, which has the code of {record}"),
        *(("", f"also: {other}") for other in convention.also), ("source", convention.source),
        ("loads", LOADS[convention.loads].words + (f" ({loader})" if loader else "")),
        *([("gallery", "the queries, then the gallery images; another is refused")]
          if convention.queries_first else []),
        ("ignored", "; ".join(IGNORED[rule].words for rule in convention.ignored) or "nothing"),
        ("AP", convention.ap + ("" if top_k is None else
                                f", over the first {top_k} {CUT[convention.cut].short}")),
        ("recall", f"divides by {RECALL[convention.recall].words}"),
        *([("not listed", f"good images beyond the end of a list: "
            f"{UNLISTED[convention.unlisted].words}")] if convention.unlisted != "unknown"
          else []),
        ("no match", f"a query without a good image: {UNMATCHED[convention.unmatched].words}"),
        ("ties", TIES[convention.ties].words),
        ("junk match", JUNK_MATCH[convention.junk_match].words if convention.ignored else
         "none: no image is ignored"),
        ("CMC", f"{convention.curve.words}; ends {ends}"),
        ("arithmetic", ARITHMETIC[convention.arithmetic].words),
        ("features", _measure(convention)), ("re-ranking", _reranking(convention)), ("", ""),
        *([("differs", "from matlab, and what that does to the numbers:")]
          if convention.differences else []),
        *(("", difference) for difference in convention.differences)], 12))


def _measure(convention: Convention) -> str:
    """Return how features become distances by default, and the place in the toolbox's code."""
    words = METRICS[convention.metric]
    if convention.metric != "cosine":
        words += f" of {'normalised' if convention.normalize else 'raw'} features"
    return words + (f" ({convention.measure})" if convention.measure else "")


def _reranking(convention: Convention) -> str:
    own = convention.reranking
    return "none of its own" if own is None else f"{own} ({own.source})"


@dataclass(frozen=True, kw_only=True)
class ConventionsRequest(Request):
    """What the command line requests."""

    name: str | None


def add(command: argparse.ArgumentParser) -> None:
    """List the named conventions, or show one: its choices, its source and its differences from
    matlab, with their direction.

    Examples:
        reid-ref conventions
        reid-ref conventions TransReID
    """
    add_argument(command, "name", nargs="?")
    add_json(command)


def run(request: ConventionsRequest) -> None:
    if request.name is not None:
        rule = rules_of_protocols().get(request.name)
        convention = rule[0] if rule else find_convention(request.name, "NAME")
        show_answer(request.format, json=lambda: Record(convention, convention.differences),
                    table=lambda: as_page(convention))
    else:
        every = every_convention()
        show_answer(request.format, table=lambda: as_list(every), json=lambda: Records(
            {name: Record(each, each.differences) for name, each in every.items()}))
