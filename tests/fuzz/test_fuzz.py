"""Every reader takes its valid files, and a sample of the campaign's damage; see run.py."""
import random

import pytest

from tests.fuzz.mutate import flipped, mutated
from tests.fuzz.readers import READERS
from tests.nightly import cases


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_valid_files_and_refuses_damage(name, tmp_path):
    reader, dice = READERS[name], random.Random(name)
    needed = {"torch": "torch", "protocol-toml": "tomllib"}.get(name)
    if needed:
        pytest.importorskip(needed)
    seeds = reader.seeds(tmp_path)
    for content in seeds:
        assert reader.accepts(tmp_path, content), content[:200]
    for _ in range(cases(12, 300)):
        content = mutated(dice.choice(seeds), dice.random(), lambda part: flipped(part, dice))
        try:
            reader.accepts(tmp_path, content)
        except Exception:
            print(content)
            raise
