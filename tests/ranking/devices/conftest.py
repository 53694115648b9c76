"""Arrays in main memory that are taken for arrays on an accelerator."""
import importlib

import pytest

from reid_ref.arrays import device
from reid_ref.ranking import on_device
from tests.installed import version_of


@pytest.fixture(scope="session")
def torch():
    version_of("torch")
    module = importlib.import_module("torch")
    module.set_num_threads(1)  # the problems are small: threads would only wait
    return module


class There:
    """The libraries whose arrays are taken for arrays on an accelerator, and what ran there."""

    def __init__(self, monkeypatch):
        self.counts = 0
        monkeypatch.setattr(device, "is_elsewhere", lambda value: type(value).__module__.split(
            ".")[0] in ("torch", "array_api_strict"))
        blocks = on_device._blocks

        def counted(*arguments):
            self.counts += 1
            return blocks(*arguments)

        monkeypatch.setattr(on_device, "_blocks", counted)

    def ran(self):
        """Whether counting ran on the device since the last call."""
        ran, self.counts = self.counts > 0, 0
        return ran


@pytest.fixture
def there(monkeypatch):
    return There(monkeypatch)
