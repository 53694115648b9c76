"""Bad input ends in an `InputError`: tests name its argument and a noun, not the sentence."""
import os
import re

import pytest

from reid_ref import InputError

#: Characters of a message, without the folders of the files that it names.
LONGEST = 240


def assert_short(message):
    """A message is read at a glance: at most three lines of a terminal."""
    without_folders = re.sub(r"(?<![\w.-])(?:[A-Za-z]:)?(?:[\\/][^\\/ ]+)+[\\/]", "", message)
    without_folders = re.sub(r"\w{100,}", "", without_folders)  # a file's own name
    assert len(without_folders) <= LONGEST, (len(without_folders), without_folders)


def refused(argument, noun, call, *arguments, **options):
    """Return the error of a call: it names `argument`, without folders, and the noun is in it."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    error = caught.value
    named = error.argument.replace(os.sep, "/")
    assert named == argument or named.endswith(f"/{argument}"), error.args
    assert_short(str(error))
    assert noun in f"{error.expected}; {error.got}; {error.remedy}", error.args
    return error
