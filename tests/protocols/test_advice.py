"""What screens and guides advise: each protocol and convention is held from its features on."""
import re

import numpy as np
import pytest

from reid_ref import CONVENTIONS, Labels
from reid_ref.console.protocols import hint
from reid_ref.conventions.records import NAMES, known_as
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.protocols import PROTOCOLS, Part
from tests.documents import ROOT
from tests.protocols.test_from_features import RECORDINGS

#: Protocols and conventions with a recording of the code's own test script.
RECORDED = {known_as(name) for recording in RECORDINGS.values() for name in (
    recording["given"].get("protocol"), recording["given"].get("convention")) if name}
#: By the text of a paper or of a code alone, which its record says.
TEXT_ONLY = {"veri-776-tracks", "atrw-wild", "cuhk02"}


def rule_of(name):
    """The rule and the distance of a protocol, whatever it is called."""
    record = PROTOCOLS[name]
    convention = record.convention.replace(name="any", source="", also=(), oddities=())
    return convention, convention.metric, convention.normalize, record.parts, record.trials


def is_held(name):
    """Whether a recording holds a protocol, or one with its rule."""
    return any(rule_of(name) == rule_of(other) for other in RECORDED & PROTOCOLS.keys())


def advised(text):
    """The protocols that a text names with the option, or as code."""
    return {name for name in re.findall(r"--protocol ([a-z0-9-]+)|`([a-z0-9-]+)`", text)
            for name in name if name in PROTOCOLS}


def texts():
    """The texts with advice, by what they are called."""
    for name, record in PROTOCOLS.items():
        yield name, f"{record.note} {record.prepare} " + (
            f"--protocol {record.later.protocol}" if record.later else "")
    for page in sorted((ROOT / "docs").glob("*.md")):
        yield page.name, re.sub(r"<!-- list: not-held.*?<!-- end -->", "", page.read_text(),
                                flags=re.DOTALL)


@pytest.mark.parametrize(("name", "text"), [
    pytest.param(name, text, id=name) for name, text in texts() if advised(text)])
def test_a_text_advises_what_is_held(name, text):
    unheld = {each for each in advised(text) - TEXT_ONLY if not is_held(each)}
    assert unheld == set(), name


def test_the_number_of_later_papers_is_held():
    later = [record.later.protocol for record in PROTOCOLS.values() if record.later]
    assert len(later) >= 8 and all(map(is_held, later))


@pytest.mark.parametrize("key", [key for key, benchmark in BENCHMARKS.items() if any(
    PROTOCOLS[table["name"]].counts for table in benchmark.protocols)])
def test_a_file_of_a_benchmark_is_told_its_protocol(key):
    """Labels of the benchmark's counts, of any identity: the hint names what is held."""
    for record in PROTOCOLS.values():
        if record.benchmark != key or record.parts != (Part(),) or not record.counts:
            continue
        n_query, n_gallery = record.counts["all"]
        columns = {name: np.ones for name in record.needs}
        sides = [Labels(np.arange(n) % 50 + 1, np.arange(n) % 6 + 1, **{
            name: made(n, int) for name, made in columns.items()}) for n in (n_query, n_gallery)]
        said = hint(*sides)
        assert record.name in said
        assert [name for name in advised(said) - TEXT_ONLY if not is_held(name)] == []


def test_conventions_that_guides_name_are_held():
    named = {known_as(name) for page in (ROOT / "docs").glob("*.md")
             for names in re.findall(r"--convention ([A-Za-z0-9+,-]+)", page.read_text())
             for name in names.split(",")} & set(NAMES)
    apart = {name for name in named if "function" in name or not CONVENTIONS[name].measure}
    assert named - apart - RECORDED <= {"sysu-mm01"}  # its protocol is
    assert len(named - apart) >= 8
