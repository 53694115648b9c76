"""The bounds of mAP by Rank-k and mINP, against every ranking of small label sets."""
import time
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import reid_ref
from reid_ref.cli import main
from reid_ref.datasets import good_and_wrong
from reid_ref.datasets.map_bounds import RULES, map_bounds
from reid_ref.datasets.published import hit_counts, parse_figure, possible_on


def step(ranks):
    return sum(Fraction(i, r) for i, r in enumerate(ranks, 1)) / len(ranks)


def trapezoid(ranks):
    return sum((Fraction(i, r) + (Fraction(i - 1, r - 1) if r > 1 else 1)) / 2
               for i, r in enumerate(ranks, 1)) / len(ranks)


def outcomes(good, kept, rule):
    """Every (first match, AP, INP) of a query."""
    ap_of = {"step": step, "trapezoid": trapezoid}[rule]
    return {(ranks[0], ap_of(ranks), Fraction(good, ranks[-1])) if good else (99, 0, 0)
            for ranks in combinations(range(1, kept + 1), good)}


def cases(rule, seed):
    """Yield sizes, bounds of Rank-k, and the (AP, INP) of all rankings within them."""
    random = np.random.default_rng(seed)
    for _ in range(120):
        kept = random.integers(1, 6, random.integers(1, 4))
        sizes = [(int(random.integers(0, min(k, 3) + 1)), int(k)) for k in kept]
        every = list(product(*(outcomes(*size, rule) for size in sizes)))
        edges = sorted(set(random.choice(5, random.integers(1, 4)) + 1))
        for _ in range(4):
            ends = {int(k): tuple(sorted(random.integers(0, len(sizes) + 1, 2).tolist()))
                    for k in edges}
            yield sizes, ends, [tuple(map(sum, zip(*way)))[1:] for way in every if all(
                low <= sum(first <= k for first, *_ in way) <= high
                for k, (low, high) in ends.items())]


@pytest.mark.parametrize("rule", RULES)
def test_bounds_are_those_of_every_ranking(rule):
    n_bounded = 0
    for sizes, ends, sums in cases(rule, 0):
        good, kept = np.array(sizes).T
        found = map_bounds(good, kept, ends, rule)
        if not sums:
            assert found is None
            continue
        expected = [float(end(ap for ap, _ in sums) / len(sizes)) for end in (min, max)]
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
        n_bounded += 1
    assert n_bounded > 200


@pytest.mark.parametrize("rule", RULES)
def test_minp_gives_an_upper_bound(rule):
    """It is valid in every case, and narrower in many."""
    n_narrower = 0
    for sizes, ends, sums in cases(rule, 1):
        good, kept = np.array(sizes).T
        for most in sorted({inp for _, inp in sums})[::5]:
            bound = map_bounds(good, kept, ends, rule, most_inp=float(most))[1]
            reached = float(max(ap for ap, inp in sums if inp <= most) / len(sizes))
            assert bound >= reached - 1e-12
            n_narrower += bound < map_bounds(good, kept, ends, rule)[1] - 1e-9
    assert n_narrower > 100


#: By scipy's linear programmes on Market-1501's counts: step, trapezoid.
@pytest.mark.parametrize(("printed", "greatest"), [
    ("Rank-1=0.00,Rank-5=0.24%,Rank-10=0.24%", (38.2269, 35.9836)),
    ("Rank-1=60.01,Rank-5=60.01,Rank-10=60.01,Rank-20=60.01", (73.4026, 72.9203)),
    ("Rank-1=89.07,Rank-5=89.13,Rank-10=89.16,Rank-20=95.01", (94.4645, 94.3418)),
    ("Rank-1=0.00", (81.5569, 77.2469)), ("Rank-1=60.01", (94.8930, 93.9768))])
def test_bounds_of_market(printed, greatest):
    ranks = parse_figure(printed).ranks()
    good, wrong = good_and_wrong("market1501")
    counts = {k: hit_counts(value, len(good)) for k, value in ranks.items()}
    hits = {k: (count.fewest, count.most) for k, count in counts.items()}
    start = time.process_time()
    for rule, expected in zip(("step", "trapezoid"), greatest):
        high = map_bounds(good, good + wrong, hits, rule)[1]
        assert round(100 * high, 4) == expected
    assert time.process_time() - start < 2  # milliseconds


def test_all_numbers_of_a_figure_bind():
    """`validate` bound mAP by Rank-1 alone; a network that had collapsed was possible."""
    for rest, possible in (("75.04", True), ("50.04,Rank-10=0.24%", False),
                           ("75.04,mINP=0.1%", False), ("70.04,Rank-5=60.01", True),
                           ("70.04,Rank-5=60.02", False)):
        found = reid_ref.validate(dataset="market1501", published=f"Rank-1=0.00,mAP={rest}")
        assert found.possible == possible, rest
    assert "no ranking of these labels has that Rank-1 and Rank-5" in found.no_bounds
    assert possible_on(parse_figure("Rank-1=50,Rank-5=60.01"), None, [3368, 1000])[2] == (
        "the good images are not on record")
    assert possible_on(parse_figure("Rank-1=50,Rank-5=48"), None, [1000])[2].startswith(
        "impossible: no ranking")
    assert parse_figure("Rank-1=50,mINP=101").over == "mINP 101"
    assert parse_figure("Rank-10=60,Rank-5=50").ranks() == {10: Decimal(60), 5: Decimal(50)}


def test_the_impossible_pair_is_said_to_be(capsys):
    """ "no bounds: no ranking ..." was read as: any mAP is possible."""
    assert main(["validate", "--dataset", "market1501", "--published", "94.43/86.10"]) == 1
    assert "mAP        not judged: Rank-1 is impossible: no ranking" in capsys.readouterr().out
    assert main(["validate", "--dataset", "market1501", "--published",
                 "Rank-1=0.00,mAP=50.04,Rank-10=0.24%", "Rank-1=0.00,mAP=1.04"]) == 1
    assert ("impossible: mAP is out of reach with this Rank-1 and Rank-10"
            in capsys.readouterr().out.splitlines()[0])
