"""Bad input ends in an `InputError`: tests name its argument and a noun, not the sentence."""
import os

import pytest

from reid_ref import InputError


def refused(argument, noun, call, *arguments, **options):
    """Return the error of a call: it names `argument`, without folders, and the noun is in it."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    error = caught.value
    named = error.argument.replace(os.sep, "/")
    assert named == argument or named.endswith(f"/{argument}"), error.args
    assert noun in f"{error.expected}; {error.got}; {error.remedy}", error.args
    return error
