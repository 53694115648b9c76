"""What the arrays of result files are called: roles and their names, and the known layouts.

Aim: one table for code, messages and documentation. A role is what an array is for: features or
distances, a column of labels, or how many of the images are queries. A layout contains the name
that a script gives each, and whether its matrices have one column per image.

Source: each layout names the script that writes or reads it; the names are those of public
evaluators (torchreid, fast-reid, TransReID, open-reid, layumi, person-re-ranking and their users).
"""
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from reid_ref.arrays import InputError, check_choice
from reid_ref.disk import tables_of
from reid_ref.labels import FURTHER

_TABLES = tables_of("files/layouts.toml")
#: The sides, and what names call them.
SIDES = {"query": "query queries q prob probe", "gallery": "gallery galleries gall gal g test"}
#: Sets of a side that a file may have apart, in their order: PRCC's queries in the same and in
#: different clothes (guxinqian/Simple-CCReID f773d01, test.py, test_prcc).
SETS = {"query": ("qs", "qd")}
#: What there is of each image, and its names: with a side's, or alone for the images of both.
COLUMNS: Mapping[str, str] = _TABLES["columns"]
#: What there is once, and its names.
WHOLE: Mapping[str, str] = _TABLES["whole"]
#: Every role that an array can have: of a side, of the images of both, or of the whole.
ROLES = (*(f"{side}_{column}" for side in SIDES for column in COLUMNS), *COLUMNS, *WHOLE)

#: Arrays by which a file of person search is known (`protocols.boxes`), two of ours or SeqNet's.
BOXES = ({"truth_box", "detection_box"}, {"gallery_dets", "gallery_feats"})
FEATURES = ("query_features", "gallery_features")
LABELS = ("query_identity", "query_camera", "gallery_identity", "gallery_camera")
#: Labels that a file may lack, on both sides.
CAMERAS = {"query_camera", "gallery_camera"}
#: Further keys that a file may have in every layout, and their roles.
OPTIONAL = {f"{side}_{column}": f"{side}_{role}" for side in SIDES for column, role in (
    *((column, "paths" if column == "name" else column) for column in FURTHER),
    ("tracklet", "video"), ("paths", "paths"))} | {"candidates": "candidates"}


@dataclass(frozen=True)
class Layout:
    """How a script stores features or distances with labels.

    Parameters
    ----------
    title : str
        What it is, in words.
    source : str
        The script that writes or reads it.
    keys : mapping of str to str
        Role to the key that has it. Roles without a side are of the images of both; `is_query` is
        then 1 or "query", 0 or "gallery" for each of them.
    columns : bool
        The matrices have one column, not one row, per image (features) or query (distances).
    """

    title: str
    source: str
    keys: Mapping[str, str]
    columns: bool = False

    def __post_init__(self) -> None:
        for role in self.keys:
            check_choice(role, "keys", ROLES)
        if (one := self.keys.keys() & CAMERAS) and len(one) < len(CAMERAS):
            raise InputError("keys", "cameras of both sides, or of neither", ", ".join(one))


#: One file that holds everything, or a folder of .npy files, with just these names; the first that
#: fits is taken.
LAYOUTS: Mapping[str, Layout] = MappingProxyType({
    name: Layout(**fields) for name, fields in _TABLES["layouts"].items()})
#: Several files with an array each.
SEPARATE: Mapping[str, str] = MappingProxyType(_TABLES["separate"])


def _plain(*words: str) -> str:
    return "".join(word if len(word) < 3 else word.rstrip("s") for word in words)


def _roles_of_names() -> dict[str, str]:
    """Return the role of every name in the tables, by the plain name."""
    roles = {_plain(name): f"{side}_features" for side, sides in SIDES.items()
             for name in sides.split() if len(name) > 4}
    for column, names in COLUMNS.items():
        for name in names.split():
            roles |= {_plain(name): column} if len(name) > 1 else {}
            for side, sides in SIDES.items():
                roles |= {_plain(start, name): f"{side}_{column}"
                          for start in (*sides.split(), *SETS.get(side, ()))}
                roles |= {_plain(name, end): f"{side}_{column}" for end in sides.split()
                          if len(name) > 1}
    return roles | {_plain(name): role for role, names in WHOLE.items() for name in names.split()}


class Reading(NamedTuple):
    """What a protocol adds to the names of arrays.

    Parameters
    ----------
    sides : dict of str to str
        Side to further words for it, between blanks: text, where captions ask.
    same_images : bool
        Query and gallery are the same images, which a file may have once.
    """

    sides: Mapping[str, str] = MappingProxyType({})
    same_images: bool = False

    def names(self) -> dict[str, str]:
        """Return the role of every further name, by the plain name.

        Examples
        --------
        >>> Reading({"query": "text"}).names()["textfeature"]
        'query_features'
        """
        roles = {_plain(*words): f"{side}_{column}" for side, sides in self.sides.items()
                 for word in sides.split() for column, names in COLUMNS.items()
                 for name in names.split() if len(name) > 1 and column != "paths"
                 for words in ((word, name), (name, word))}
        return {name: role for name, role in roles.items() if name not in NAMES}


#: Plain word for a side to whether it is that of the queries.
IS_QUERY = {_plain(name): side == "query" for side, names in SIDES.items()
            for name in names.split()}
#: Words of a split for queries if none is called so, and for images that are left out.
HELD_OUT, TRAINING = {"test", "val", "valid", "validation"}, {"train", "training", "trainval"}
#: Plain name to role.
NAMES: Mapping[str, str] = _roles_of_names()
#: Plain name to the number of the set that it is of, from 0.
SET_OF: Mapping[str, int] = {
    _plain(start, name): k for sets in SETS.values() for k, start in enumerate(sets)
    for names in COLUMNS.values() for name in names.split()}
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+s?(?![a-z])|[0-9]+")
#: Words without a role.
_FILLERS = {"all", "list", "array", "arr", "np", "tensor"}


def plain_name(name: str) -> str:
    """Return a name without case, separators, fillers and plural s.

    Examples
    --------
    >>> [plain_name(name) for name in ("q_pids", "queryCamIDs", "gallery_features_np", "QF")]
    ['qpid', 'querycamid', 'galleryfeature', 'qf']
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return _plain(*(word for word in words if word not in _FILLERS))


_WORDS = {word: role for role, words in {
    "distances": "dist", **SIDES, "identity": "id ids pid pids label labels identity identities",
    "camera": "cam cams camera cameras camid camids"}.items() for word in words.split()}
# The words of queryID, testCAM, probFea and querycam; but not of mquery, distractor, latest and
# Camstyle. `id` is a word only alone or after a side: IDE and GRID are no identities.
_BORDERS = (
    re.compile(r"(?<=[a-z])(?=[A-Z])"),
    re.compile(r"(?<![a-z])(?:query|probe?|gallery|gall?|test)|dist(?!ract)"
               r"|(?:cam(?:era|id)?|label)s?(?![a-z])", re.IGNORECASE))


def side_in(name: str) -> str | None:
    """Return the side that a name begins or ends with, as it is spelled in the tables, or None.

    Examples
    --------
    >>> [side_in(name) for name in ("query_camra", "q_camz", "text_feats", "gen_feats")]
    ['query', 'query', None, None]
    """
    words, plain = [word.lower() for word in _WORD.findall(name)], plain_name(name)
    for side, sides in SIDES.items():
        for word in sides.split():
            if word in words or len(word) > 2 and (
                    plain.startswith(word) or plain.endswith(_plain(word))):
                return side
    return None


def role_of(name: str) -> str | None:
    """Return the role that a file or variable name means, or None.

    It is a name of the tables, or has words of theirs; then query or gallery without identity or
    camera mean features.

    Examples
    --------
    >>> [role_of(name) for name in ("queryID", "g_camids", "query_gallery_distance")]
    ['query_identity', 'gallery_camera', 'distances']
    >>> role_of("ResNet_50_IDE_test"), role_of("query_clothes"), role_of("epoch")
    ('gallery_features', 'query_clothes', None)
    """
    role = NAMES.get(plain_name(name))
    if role is not None and role not in COLUMNS:
        return role
    spaced = name
    for border in _BORDERS:
        spaced = border.sub(r" \g<0> ", spaced)
    words = {_WORDS[word] for word in re.findall("[a-z]+", spaced.lower()) if word in _WORDS}
    if "distances" in words:
        return "distances"
    sides, what = words & SIDES.keys(), words & {"identity", "camera"}
    if len(sides) != 1 or len(what) > 1:
        return role
    return f"{sides.pop()}_{what.pop() if what else 'features'}"


def role_of_array(key: str, path: Path, n_arrays: int) -> str | None:
    """Return the role of an array of a file, by its name, else by the file's if it is alone."""
    role = role_of(key)
    if n_arrays == 1 and (role is None or role in (*FEATURES, *COLUMNS)):
        by_file = role_of(path.stem)
        return by_file if by_file and (role is None or by_file not in COLUMNS) else role
    return role
