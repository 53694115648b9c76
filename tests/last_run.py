"""`pytest --not-passed`: the tests that the last run did not pass.

They were skipped, they failed, or they were not collected. `.ci/run` takes the suite as a reader
does; then, with every package, what did not pass there: by this no test can be run by nobody.
"""
#: Where the names of the tests that passed are, in pytest's cache.
KEY = "reid-ref/passed"


class LastRun:
    """Plugin that keeps which tests pass, and leaves them out where that is asked for."""

    def __init__(self, config):
        self.config, self.passed = config, set()

    def pytest_collection_modifyitems(self, items):
        if self.config.getoption("not_passed"):
            before = set(self.config.cache.get(KEY, []))
            self.config.hook.pytest_deselected(
                items=[item for item in items if item.nodeid in before])
            items[:] = [item for item in items if item.nodeid not in before]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif report.failed:
            self.passed.discard(report.nodeid)

    def pytest_sessionfinish(self):
        worker = hasattr(self.config, "workerinput")  # of pytest-xdist, which sees some of them
        if not (worker or self.config.option.collectonly):
            self.config.cache.set(KEY, sorted(self.passed))
