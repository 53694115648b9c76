"""The recorded problems and answers of fixtures/compat, and how exactly they are met."""
import functools
import importlib.util
import json

import numpy as np

from tests.documents import ROOT

FOLDER = ROOT / "fixtures/compat"

_SPEC = importlib.util.spec_from_file_location("compat_problems", FOLDER / "problems.py")
problems = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(problems)

#: Theirs add the same doubles in another order (numpy's pairwise sums, or 1/n times each): each
#: addition of numbers up to 1 rounds by at most 1.1e-16, and there are tens of them.
ORDER_OF_SUMMATION = 4e-15


@functools.cache
def recorded(toolbox):
    return json.loads((FOLDER / f"{toolbox}.json").read_text())


def answers(toolbox, function):
    """Problem by problem: seed, ties, and what their function answered, or the error."""
    found = []
    for key, answer in recorded(toolbox).items():
        name, _, problem = key.partition(function + " ")
        if name == "" and len(problem.split()) == 2:
            seed, ties = problem.split()
            found.append((int(seed), ties == "ties", answer))
    return found


def assert_recorded(answer, curve, *means):
    """A curve to the bit, in its dtype and length; means up to the order of summation."""
    assert (len(curve), str(curve.dtype)) == (answer["length"], answer["dtype"])
    theirs = np.array(answer["cmc"], dtype=curve.dtype)
    np.testing.assert_array_equal(curve[:len(theirs)], theirs)
    for name, mean in zip(("mAP", "mINP"), means, strict=False):
        assert isinstance(mean, type(answer[name]))
        np.testing.assert_allclose(mean, answer[name], rtol=0, atol=ORDER_OF_SUMMATION)
    assert {"length", "dtype", "cmc", "mAP", "mINP"} >= set(answer)
    assert len(means) == len({"mAP", "mINP"} & set(answer))
