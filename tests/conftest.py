"""Options and fixtures of the whole suite."""
import os
import signal
from pathlib import Path

import hypothesis
import pytest

from tests.installed import absent
from tests.last_run import LastRun
from tests.octave import OWN_SCRIPTS, Octave, missing

# Who starts the tests in the background may ignore signals, and what is ignored stays so in every
# process that they start: then no Ctrl-C could be tried.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL),
                      ("SIGTERM", signal.SIG_DFL)):
    number = getattr(signal, name, None)  # Windows has no SIGHUP
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# A deadline for an example would fail on a busy machine.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

#: No tests: a recording to compare with, and what other systems lack.
collect_ignore = ["recorded", "elsewhere"]


def pytest_addoption(parser):
    parser.addoption(
        "--matlab-dir", metavar="DIR", default=os.environ.get("REID_REF_MATLAB_DIR"),
        help="folder of MATLAB scripts to compare with, e.g. your checkout of the originals "
             "(default: $REID_REF_MATLAB_DIR, else matlab_ref)")
    parser.addoption(
        "--not-passed", action="store_true", help="run what did not pass in the last run")


def scripts_folder(config):
    return Path(config.getoption("--matlab-dir") or OWN_SCRIPTS).resolve()


def pytest_configure(config):
    if config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(LastRun(config))
    if not (scripts_folder(config) / "compute_AP.m").is_file():
        raise pytest.UsageError(
            "--matlab-dir (or REID_REF_MATLAB_DIR): expected a folder that holds compute_AP.m, "
            f"got {scripts_folder(config)}")


@pytest.fixture(scope="session")
def octave(pytestconfig, tmp_path_factory):
    """One Octave session for the run; see `tests.octave` for what happens without Octave."""
    reason = missing()
    if reason:
        absent(reason, "REID_REF_OCTAVE")
    session = Octave(scripts_folder(pytestconfig), tmp_path_factory.mktemp("empty"))
    yield session
    session.close()
