"""A protocol in words: its parts, its trials, and what it chooses if the user does not."""
from collections.abc import Iterator
from typing import NamedTuple

from reid_ref.conventions import IGNORED, METRICS
from reid_ref.evaluation.how import How
from reid_ref.protocols.record import Exact, Part, Protocol, Rows, Seeded


def what_to_save(protocol: Protocol) -> str:
    """Return the recipe of a protocol in Markdown, or what any file contains."""
    return protocol.save or (
        "Features or distances with labels, by their usual names or from your toolbox:\n"
        "[files](../files.md).\n")


def words_of(protocol: Protocol, part: Part) -> str:
    """Return the queries, the gallery and the ignored images of a part."""
    if protocol.boxes is not None:
        return protocol.boxes.words(part.name)
    ignored = protocol.convention.ignored if part.ignored is None else part.ignored
    tracks = "tracks of " if protocol.tracks else ""
    return (f"{_rows(part.query)} against {tracks}{_rows(part.gallery)}; ignored: "
            + ("; ".join(IGNORED[rule].words for rule in ignored) or "nothing"))


def _rows(rows: Rows) -> str:
    where = ", ".join(f"{column}{'s' * (len(values) > 1)} {', '.join(map(str, values))}"
                      for column, values in rows.where.items())
    drawn = {None: "", True: " that are drawn", False: " that are not drawn"}[rows.drawn]
    return ("queries" if rows.side == "query" else "gallery images") + drawn + (
        f" of {where}" if where else "")


def trials_of(protocol: Protocol) -> tuple[str, str]:
    """Return the trials in a word or two, and in full."""
    trials = protocol.trials
    if isinstance(trials, Exact):
        return "expectation", "the expectation over all galleries of one image of each identity"
    galleries = "1 gallery" if trials.n == 1 else f"{trials.n} galleries"
    if isinstance(trials, Seeded):
        seeds = f"{trials.seed} to {trials.seed + trials.n - 1}"
        return f"{trials.n} drawn", (
            f"{galleries}, one image of each {' and '.join(trials.unit)} drawn by Python's "
            f"random, " + (f"seed {trials.seed}" if trials.n == 1 else f"seeds {seeds}"))
    words = "one, of all images" if trials.n == 1 else (
        f"{trials.n} splits that come with the data set")
    if trials.file:
        words = f"{galleries} of {trials.file}"
    return "one" if trials.n == 1 else f"{trials.n} given", words


class Choice(NamedTuple):
    """What a protocol chooses, and the arguments of `evaluate_protocol` that change it."""

    words: str
    arguments: tuple[str, ...] = ()


def choices_of(protocol: Protocol) -> Iterator[Choice]:
    """Yield what a protocol chooses for its user: distance, detections, parts, trials, cameras.

    Examples
    --------
    >>> from reid_ref.protocols import PROTOCOLS
    >>> [choice.words for choice in choices_of(PROTOCOLS["msmt17"])]
    ['squared Euclidean distance, features as they are']
    """
    metric, normalized = How((protocol.convention,)).distance()
    yield Choice(f"{METRICS[metric]}, features "
                 + ("divided by their 2-norms" if normalized else "as they are"),
                 ("metric", "normalize"))
    if protocol.boxes is not None:
        yield Choice(f"detections: {protocol.boxes.kept}", ("min_score", "boxes_per_image"))
    elif len(protocol.parts) > 1:
        yield Choice("parts: " + ", ".join(part.name for part in protocol.parts), ("part",))
    if trials_of(protocol)[0] != "one":
        yield Choice(f"trials: {trials_of(protocol)[1]}", ("trials",))
    if protocol.shots != (1,):
        yield Choice(f"shots: {protocol.shots[0]}", ("shots",))
    if protocol.cameras:
        yield Choice(f"cameras: {min(protocol.cameras)} to {max(protocol.cameras)}")
