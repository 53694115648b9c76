"""`reid-ref doctor`: which benchmark a file is of, and known mistakes in it."""
import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from reid_ref.analysis.doctor import CHECKS, Diagnosis, checked, diagnose
from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.console import options as common
from reid_ref.console.answers import Dataset, OfFiles, add_json, dataset_of, show_answer
from reid_ref.console.protocols import check_part, hint, selected
from reid_ref.console.request import Request, option
from reid_ref.datasets import Recognised, read_labels
from reid_ref.datasets.fingerprints import SetCounts, count, count_rows
from reid_ref.datasets.labels import hold_labels_alone
from reid_ref.evaluation.how import How
from reid_ref.labels import Labels
from reid_ref.protocols.records import protocols_of
from reid_ref.text import NO_BENCHMARK, by_reason, input_pairs, named_rows, row
from reid_ref.text.numbers import whole

#: The layout of files without features and distances.
LABELS = "labels, without features or distances (ranked lists are not looked at)"


@dataclass(frozen=True)
class Diagnosed(OfFiles):
    """What the doctor finds, as JSON has it; without a known benchmark, nothing is expected."""

    dataset: Dataset | None
    protocols: list[str]
    counts: SetCounts
    expected: SetCounts | None
    source: str | None
    findings: list[Finding]
    checks: list[str]
    skipped: dict[str, str]


def as_text(files: list[str], layout: str, labels: tuple[Labels, Labels],
            benchmark: Recognised | None, diagnosis: Diagnosis, sizes: str) -> str:
    """Return the benchmark with its counts, one paragraph per finding (severity, sentence, remedy,
    key), how many checks ran, and which did not.
    """
    query, gallery = labels
    lines = named_rows(input_pairs(files, layout, len(query), len(gallery), sizes))
    lines += _counts(count(*labels), benchmark, hint(*labels))
    for finding in diagnosis.findings:
        lines += ["", *row(finding.severity, finding.sentence)]
        lines += row("remedy", finding.remedy)
        lines += row("more", f"{finding.key} in the documentation")
    found = len({finding.key for finding in diagnosis.findings})
    lines += ["", *row("checks", f"{len(diagnosis.ran)} of {len(CHECKS)} ran, and "
                       + (f"{found} found something" if found else "found nothing"))]
    for reason, names in by_reason(diagnosis.skipped).items():
        lines += row("not run", f"{', '.join(names)}: {reason}")
    lines += row("not seen", "what was done alike to both sides: colour order, mean and "
                 "deviation, resizing, a network without its weights")
    return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class DoctorRequest(Request):
    """What the command line requests."""

    seed: int = option("--seed", 12345, type=whole)


def _counts(counts: SetCounts, benchmark: Recognised | None, protocols: str) -> Iterator[str]:
    """Yield the benchmark, and its counts next to those of the labels."""
    yield from row("dataset", benchmark.sentence if benchmark else NO_BENCHMARK)
    yield from row("protocol", protocols)
    if benchmark is None:
        numbers = [f"{value:,} {name}" for name, value, _ in count_rows(counts)[2:]]
        yield from row("counts", ", ".join(numbers))
        return
    yield from row("source", benchmark.fingerprint.source)
    yield f"{'counts':30}{'here':>10}{'expected':>10}"
    for name, value, expected in count_rows(counts, benchmark.fingerprint):
        yield f"  {name:28}{value:>10,}{expected:>10,}" + "  *" * (value != expected)


def add(command: argparse.ArgumentParser) -> None:
    """Count images, identities, cameras and good pairs, compare them with those of the benchmark
    that they resemble, and look for known mistakes: identities that never meet, made-up cameras,
    similarities given as distances, copies, features that separate nothing.

    Examples:
        reid-ref doctor fixtures/market_like.mat
        reid-ref doctor fixtures/market_like.mat --json

    Files: a result, or labels alone, in any order: two lists of image names (text or csv, query
    and gallery or test in the file name), two folders of images, or the folder that has both,
    MARS's tracks_test_info.mat and query_IDX.mat, the configuration .mat of CUHK03-NP, the four
    label vectors of the MATLAB drivers. Exit code: 0 if nothing worse than a warning was found, 1
    for an error or counts that are not the benchmark's, 2 for wrong input. Each finding has a key,
    e.g. doctor:single-camera, with a section of its own in the documentation.
    """
    common.add_files(command)
    DoctorRequest.add(command, "--labels", "--convention", "--set", "--protocol", "--part",
                      "--trials", "--shots", "--seed")
    add_json(command)


def run(request: DoctorRequest) -> int:
    protocol = check_part(request)
    how = None
    if protocol is None and request.given("--convention", "--set"):
        how = common.how(request, [common.one_convention(request)])
    if protocol is None and not request.map and hold_labels_alone(*request.files):
        query, gallery = read_labels(*request.files)
        subject, layout, sizes = Subject(query, gallery, how=how or How()), LABELS, ""
    else:
        data = common.read_files(request)
        if protocol is not None:
            data, convention = selected(request, protocol, data)
            how = common.how(request, [convention])
        subject, layout = checked(data, how, seed=request.seed), data.layout
        sizes = data.input.words(len(data.gallery))
    diagnosis, labels = diagnose(subject), (subject.query, subject.gallery)
    known = subject.benchmark
    show_answer(
        request.format, json=lambda: Diagnosed(
            request.files, layout, dataset_of(known), protocols_of(*labels), count(*labels),
            known.fingerprint.counts if known else None,
            known.fingerprint.source if known else None, diagnosis.findings, diagnosis.ran,
            diagnosis.skipped),
        table=lambda: as_text(request.files, layout, labels, known, diagnosis, sizes))
    return int(any(finding.severity == "error" for finding in diagnosis.findings)
               or known is not None and bool(known.off))
