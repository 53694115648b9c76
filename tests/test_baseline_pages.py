"""The sentences of the pages about real networks say what the saved results say.

The tables are computed from the same files: tests/datasets/test_benchmarks.py compares them.
"""
import re

import pytest

from tests.documents import ROOT

with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(ROOT / "docs")
    import baseline_tables as tables


def text_of(page):
    return " ".join((ROOT / page).read_text().split())


def printed():
    """Every network with each figure that is printed of it."""
    records = {record.key: record for record in tables.load()}
    return [(name, records[key]) for name in tables.networks()
            for key in tables.NETWORKS[name]["printed"]]


def mAP(name, convention):
    return 100 * tables.result(name, convention).mAP


def test_every_printed_pair_is_near_one_convention_and_far_from_the_others():
    """Those that rank the same features alike are counted once."""
    whole = [(name, record) for name, record in printed()
             if tables.NETWORKS[name].get("complete", True)]
    nearest = [tables.distances(name, record)[0][0] for name, record in whole]
    off = [abs(mAP(name, convention) - float(record.mAP)) for name, record in whole
           for convention in tables.NETWORKS[name]["conventions"]]
    assert len({name for name, _ in whole}) == 6
    assert ("For each of six [networks](docs/baselines.md), one convention is within "
            f"{max(nearest):.2f} points of the printed pair, another up to {max(off):.1f} points "
            "off.") in text_of("README.md")
    assert f"off by at most {max(nearest):.2f} points" in text_of("docs/baselines.md")
    assert 0 < max(nearest) < .4
    raised = [mAP(name, "fast-reid") - mAP(name, "torchreid") for name in tables.networks()]
    words = f"by {min(raised):.1f} to {max(raised):.1f} points"
    assert f"**Normalising raises mAP** {words}" in text_of("docs/baselines.md")


def test_what_a_difference_is_worth():
    """The ranges of the sentences are those of the table."""
    page = text_of("docs/is_it_better.md")
    errors = [100 * tables.result(name).interval("mAP").se for name in tables.networks()]
    words = f"{min(errors):.1f} to {max(errors):.1f} points"
    assert f"a standard error of {words}" in page
    assert f"has a standard error of {words}" in text_of("docs/baselines.md")
    copies = [tables.difference(of, name) for name, of in tables.COPIES.items()]
    least = 100 * min(test.detectable for test in copies)
    assert f"It is {least:.1f} points for near copies" in page
    unlike = [100 * tables.difference(*pair).detectable for pair in tables.pairs()
              if pair not in {(of, name) for name, of in tables.COPIES.items()}]
    assert f"{min(unlike):.1f} to {max(unlike):.1f} for two networks" in page


def test_the_networks_of_nearly_the_figures_of_the_question():
    page = text_of("docs/is_it_better.md")
    low, high, other = (f"{tables.SHORT}{n}" for n in ("0079", "0076", "0286"))
    near, far = tables.difference(low, high), tables.difference(high, other)
    assert (f"mAPs, {mAP(low, 'matlab'):.2f} and {mAP(high, 'matlab'):.2f}, are "
            f"{near.difference / near.se:.1f} standard errors apart. 0286, of another family, is "
            f"{100 * far.difference:.2f} points above 0076: {far.difference / far.se:.1f} "
            "standard errors.") in page
    table = re.search(r"<!-- list: worth.*?<!-- end -->", page).group()
    rows = re.findall(r"\| ([^|]+, [^|]+) \|", table)
    ordinal = ("first", "second", "third", "fourth", "fifth")[rows.index("0076, 0079")]
    assert .95 <= .3 / 100 / near.se < 1.05
    assert (f"The {ordinal} row answers the question: between two such networks 0.3 points are "
            "one standard error,") in page


def test_the_network_that_is_worse_is_better_for_nearly_half_of_the_persons():
    one, other = (tables.difference(f"{tables.SHORT}0288", f"{tables.SHORT}0031"),
                  text_of("docs/is_it_better.md"))
    assert f"{one.worse} of {one.better + one.worse + one.same} persons" in other


def test_two_printed_figures_of_one_ranking():
    """0288's page in two versions."""
    shown = re.search(r"\((\d\d\.\d\d) and (\d\d\.\d\d\d) here\)", text_of("docs/baselines.md"))
    name = f"{tables.SHORT}0288"
    assert shown.groups() == (f"{mAP(name, 'fast-reid'):.2f}", f"{mAP(name, 'matlab'):.3f}")
