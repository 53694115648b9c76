"""The doctests of the package, which tests/conftest.py does not reach."""
import doctest

import pytest

from tests.installed import check_doctest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Skip a doctest aloud where a package is missing, or fail where that is required."""
    try:
        return (yield)
    except doctest.UnexpectedException as failure:
        check_doctest(failure)
        raise
