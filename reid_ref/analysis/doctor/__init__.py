"""Checks for known mistakes in a result file."""
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from reid_ref.analysis.doctor import copies, labels, leaks, order, shifts, sides, values
from reid_ref.analysis.doctor.finding import SEVERITIES, Finding
from reid_ref.analysis.doctor.names import names_differ
from reid_ref.analysis.doctor.norms import norms
from reid_ref.analysis.doctor.numbering import numbered_apart
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import InputError
from reid_ref.evaluation.how import How, labels_to_rank
from reid_ref.evaluation.result_file import ResultFile, check_result_file

#: With an evaluation, which is quick, the sample is smaller.
SMALL_SAMPLE = 100, 1000
#: Of images that are ignored for their camera.
OF_CAMERAS = {"doctor:single-camera", "doctor:same-camera-only", "doctor:camera-per-image",
              "doctor:camera-offset", "doctor:camera-trace", "doctor:camera-digit",
              "doctor:camera-in-names"}
#: In an evaluation's own warnings: of queries without a match, and of NaN.
WARNED_OF = {"doctor:single-camera", "doctor:same-camera-only", "doctor:identities-differ",
             "doctor:nan", "doctor:zero-features"}
#: Checks in their order; a check may look at the findings of those before it.
CHECKS: Mapping[str, Callable[[Subject], Iterator[Finding]]] = MappingProxyType({
    "placeholders": labels.placeholders,
    "cameras missing": labels.no_cameras,
    "matches": labels.no_match,
    "cameras": labels.camera_labels,
    "counts of benchmarks": labels.counts_differ,
    "image names": names_differ,
    "overflow of identities": labels.wrapped_identities,
    "one good image": labels.one_good_image,
    "NaN": values.not_a_number,
    "matrix of distances": copies.whole_matrix,
    "distances of 0": copies.identical_distances,
    "constant columns": values.constant_columns,
    "equal features": copies.copies,
    "copies among all rows": copies.copied_rows,
    "class probabilities": sides.softmax_outputs,
    "columns that hold labels": leaks.telling_columns,
    "numbering of identities": numbered_apart,
    "sides made alike": sides.sides_apart,
    "parts of the gallery": order.part_at_chance,
    "each side and both": sides.sides_misfit,
    "good against wrong images": values.separation,
    "first match against chance": values.below_chance,
    "mixed labels": order.two_modes,
    "norms": norms,
    "averages over identities": leaks.averaged,
    "cameras of both sides": shifts.cameras_that_do_not_fit})


@dataclass(frozen=True)
class Diagnosis:
    """What was found, the most serious first; which checks ran; which did not, and why."""

    findings: list[Finding]
    ran: list[str]
    skipped: dict[str, str]


def diagnose(subject: Subject) -> Diagnosis:
    """Make every check of labels and values that can be made."""
    skipped: dict[str, str] = {}
    for name, check in CHECKS.items():
        try:
            for finding in check(subject):
                if subject.by_camera or finding.key not in OF_CAMERAS:
                    subject.found.append(finding)
            subject.ran.append(name)
        except NotChecked as reason:
            skipped[name] = str(reason)
    # Other checks say more of cameras than names.
    findings = sorted(subject.found, key=lambda finding: (
        -SEVERITIES.index(finding.severity), finding.key == "doctor:camera-in-names"))
    return Diagnosis(findings, subject.ran, skipped)


def doctor(data: ResultFile, *, seed: int = 12345) -> list[Finding]:
    """Look for known mistakes in labels, cameras, features and distances.

    One pass over the labels, a sample of 300 queries with all their good images and 2,000 others,
    and one of whole identities; of features in memory, all rows are looked at for copies. On the
    labels of Market-1501, DukeMTMC-reID, MARS, CUHK03-NP and MSMT17 nothing is found.

    Parameters
    ----------
    data : ResultFile
        As for `reid_ref.explain`.
    seed : int
        Of the sample, from 0.

    Returns
    -------
    list of Finding
        The most serious first.

    Raises
    ------
    InputError
        `seed` is not a whole number from 0; features or distances that do not fit the labels.

    Examples
    --------
    >>> import reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7, 8], [0, 0]), reid_ref.Labels([7, 8, 7], [0, 0, 0]),
    ...     distances=[[.1, .2, .3], [.3, .1, .2]])
    >>> for finding in doctor(data):
    ...     print(finding.key, finding.severity)
    doctor:single-camera error
    """
    return diagnose(checked(data, seed=seed)).findings


def checked(data: ResultFile, how: How | None = None, *, seed: int = 12345) -> Subject:
    """Return what is examined of a file; `how`: None where no convention is named."""
    check_result_file(data)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("seed", "a whole number from 0", repr(seed))
    data.input.check_sizes(data.query, data.gallery)
    judged = how or How()
    return Subject(*labels_to_rank(data.query, data.gallery, judged.conventions), data, judged,
                   seed, named=how is not None)


def findings_of_conventions(data: ResultFile, how: How,
                            max_memory: int | None = None) -> list[Finding]:
    """Return warnings and errors that concern one of its conventions, from a small sample."""
    # Arrays that are computed or unpacked block by block would be read a second time.
    subject = Subject(*labels_to_rank(data.query, data.gallery, how.conventions), data, how,
                      size=SMALL_SAMPLE, max_memory=max_memory, stored=False, named=True)
    return [finding for finding in diagnose(subject).findings if finding.severity != "note"]
