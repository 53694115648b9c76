"""A few cases of the campaign against the command line; see `tests/campaign.py`."""
from concurrent.futures import ThreadPoolExecutor

from tests import campaign


def test_a_hundred_and_fifty_cases():
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda number: campaign.try_case(number, seed=9), range(150)))
    broken = [(case.number, faults) for case, _, faults in runs if faults]
    assert not broken, f"python -m tests.campaign 150 --seed 9 --only {broken[0][0]}: {broken}"
    codes = [done[0] for _, done, _ in runs]
    assert codes.count(0) >= 15 and codes.count(2) >= 50


def test_broken_promises_are_seen(tmp_path):
    case = campaign.Case(0)
    (tmp_path / "in").write_text("1")
    before = campaign.state(tmp_path)
    (tmp_path / "in").write_text("2")
    (tmp_path / "left").write_text("3")
    assert campaign.broken(case, tmp_path, before, 2, b"1", b"Traceback\n\x1b", 99.0, 9999.0) == [
        "traceback", "99 s", "9999 MB", "changed in", "left left", "escape codes",
        "not one line", "error beside numbers"]
    assert campaign.broken(case, tmp_path, campaign.state(tmp_path), -11, b"", b"", 0.1, 1.0) == [
        "exit code -11"]
