"""Checks for known mistakes in a result file."""
from collections.abc import Iterable

from reid_ref.analysis.doctor.finding import SEVERITIES, Finding
from reid_ref.analysis.doctor.labels import label_findings
from reid_ref.analysis.doctor.norms import raw_features
from reid_ref.analysis.doctor.sample import draw_sample
from reid_ref.analysis.doctor.values import check_values
from reid_ref.arrays import InputError
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile, check_result_file
from reid_ref.labels import Labels

#: With an evaluation, which is quick, the sample is smaller.
SMALL_SAMPLE = 100, 1000
#: Of images that are ignored for their camera.
OF_CAMERAS = {"doctor:single-camera", "doctor:same-camera-only", "doctor:camera-per-image",
              "doctor:camera-offset", "doctor:camera-digit", "doctor:camera-in-names"}
#: In an evaluation's own warnings: of queries without a match, and of NaN.
WARNED_OF = {"doctor:single-camera", "doctor:same-camera-only", "doctor:identities-differ",
             "doctor:nan", "doctor:zero-features"}


def doctor(data: ResultFile, *, seed: int = 12345) -> list[Finding]:
    """Look for known mistakes in labels, cameras, features and distances.

    One pass over the labels, and a sample of 300 queries with all their good images and 2,000
    others; of features in memory, all rows are looked at for copies. On the labels of Market-1501,
    DukeMTMC-reID, MARS, CUHK03-NP and MSMT17 nothing is found.

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
    check_result_file(data)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("seed", "a whole number from 0", repr(seed))
    data.input.check_sizes(data.query, data.gallery)
    return most_serious_first([*label_findings(data.query, data.gallery),
                               *check_values(data, seed)])


def skipped_checks(query: Labels, gallery: Labels, data: ResultFile | None) -> list[str]:
    """Return which checks lack what they need, and what that is; `data`: None of labels alone."""
    names = query.name is not None or gallery.name is not None
    skipped = [] if names else ["labels against image names: the file has no names"]
    if query.camera is None or gallery.camera is None:
        skipped.append("cameras: the labels have none")
    if data is None:
        return [*skipped, "features and distances: labels alone"]
    if draw_sample(query, gallery, 0) is None:
        skipped.append("values: no query has a match")
    if data.query_features is None:
        skipped.append("copies, norms and sides: the file has distances, not features")
    elif data.input.is_stored:
        skipped.append("copies among all rows: features are read block by block")
    return skipped


def most_serious_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of their severity."""
    return sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))


def findings_of_conventions(data: ResultFile, how: How,
                            max_memory: int | None = None) -> list[Finding]:
    """Return warnings and errors that concern one of its conventions, from a small sample."""
    rules = {rule for convention in how.conventions for rule in convention.ignored}
    findings = list(label_findings(data.query, data.gallery))
    if rules == {"listed as junk"}:  # labels decide nothing, and show which benchmark it is
        return [finding for finding in findings if finding.key == "doctor:benchmark-counts"
                and finding.severity != "note"]
    # Arrays that are computed or unpacked block by block would be read a second time.
    if not data.input.is_stored:
        findings += check_values(data, 12345, SMALL_SAMPLE, max_memory, raw_features(how))
    by_camera = any("camera" in rule or "location" in rule for rule in rules)
    return [finding for finding in findings if finding.severity != "note"
            and (by_camera or finding.key not in OF_CAMERAS)
            and not ("itself" in rules and finding.key == "doctor:query-in-gallery")]
