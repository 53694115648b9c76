"""Identity and camera in the names of images."""
import numpy as np

from reid_ref.arrays import Integers
from reid_ref.files.image_names import FORMS, form_of
from reid_ref.labels import JUNK, Labels


def numbers_of(labels: Labels) -> tuple[Integers, Integers] | None:
    """Return identity and camera of each name; None if a name is of no known form."""
    names = labels.names()
    form = form_of(names[0]) if names else None
    if form is None:
        return None
    pattern = FORMS[form].pattern
    found = [match.group("identity", "camera") for match in map(pattern.fullmatch, names or ())
             if match is not None]
    if len(found) < len(labels):
        return None
    identity, camera = zip(*found)
    return (np.array([JUNK if "-" in text else int(text) for text in identity], np.int64),
            np.array(list(map(int, camera)), np.int64))
