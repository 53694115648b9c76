"""The toolboxes and the conventions by name, also made from choices (``ap=step,top_k=100``).

A toolbox is one table of its evaluators, their files, and the lines of its loader. A new one is
one entry of toolboxes.toml: names, bare functions and differences are derived. A toolbox with the
code of another is one of `copies` there.
"""
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from reid_ref import extensions
from reid_ref.arrays import InputError, check_choice, errors_at
from reid_ref.conventions.choices import CHOICES, CMC_LENGTH, IGNORED, known_values
from reid_ref.conventions.convention import Convention
from reid_ref.disk import tables_of
from reid_ref.labels import JUNK, Labels


#: What toolboxes make of features by default, query `q` and gallery `g`, one row per image: the
#: metric, and whether they are normalised.
FORMULAS = MappingProxyType({
    "squared(q, g)": ("euclidean", False), "squared(unit(q), unit(g))": ("euclidean", True),
    "1 - unit(q) @ unit(g).T": ("cosine", False), "-unit(q) @ unit(g).T": ("dot", True)})


#: What is given lists of images has no features.
NO_FEATURES = {"formula": "squared(unit(q), unit(g))",
               "measure": "it is given no features; here they are normalised"}


class Procedure(NamedTuple):
    """An evaluator, or a setting of it; the file is after the toolbox's repository."""

    name: str
    file: str
    choices: Mapping[str, Any]
    oddities: tuple[str, ...]


_TABLES = tables_of("conventions/toolboxes.toml")
#: The toolboxes, by the fields that toolboxes.toml describes.
TOOLBOX_TABLES: list[dict[str, Any]] = _TABLES["toolboxes"]
#: Other toolboxes with the code of an evaluator, likewise.
COPIES: list[dict[str, Any]] = _TABLES["copies"]


def procedures_of(toolbox: Mapping[str, Any]) -> Iterator[Procedure]:
    """Yield the evaluators of a toolbox; by scikit-learn one is two, with the AP since 0.19 and
    that of 0.18."""
    for table in toolbox["evaluators"]:
        choices = {**toolbox.get("choices", {}), **table.get("choices", {})}
        oddities = tuple(_TABLES["oddities"].get(text, text) for text in table.get("oddities", ()))
        if choices.get("ap") != "scikit-learn":
            yield Procedure(table["name"], table["file"], choices, oddities)
            continue
        for suffix, version, ap in (("", ">= 0.19", "sklearn-0.19"),
                                    ("-sklearn-0.18", "0.18", "sklearn-0.18")):
            yield Procedure(table["name"] + suffix, f"{table['file']}; scikit-learn {version}",
                            {**choices, "ap": ap}, oddities)


#: The cameras of SYSU-MM01's queries, infrared, and of its gallery.
SYSU_CAMERAS = (3, 6), (1, 2, 4, 5)


def toolbox_conventions(toolbox: Mapping[str, Any]) -> list[Convention]:
    """Return the conventions of a toolbox: evaluators after its loader, and the bare functions.

    Where every image is loaded the two are the same, and there is one.

    Examples
    --------
    >>> mine = {"repository": "me/toolbox 1234567", "loader": "data.py:7", "evaluators": [
    ...     {"name": "mine", "file": "rank.py", "choices": {"ap": "step"}}]}
    >>> [(record.name, record.loads) for record in toolbox_conventions(mine)]
    [('mine', 'without label -1'), ('mine-function', 'all images')]
    """
    conventions, repository, loader = [], toolbox["repository"], toolbox.get("loader")
    for evaluator in procedures_of(toolbox):
        fields: dict[str, Any] = dict(
            evaluator.choices, source=f"{repository}, {evaluator.file}",
            also=tuple(f"{', '.join(copy['names'])} ({copy['source']})" for copy in COPIES
                       if copy["evaluator"] == evaluator.name), **_fields_of(toolbox))
        if loader:
            conventions.append(Convention(
                evaluator.name, **fields, loads="without label -1",
                loader=f"{repository}, {loader}",
                oddities=(*evaluator.oddities, *toolbox.get("loader_oddities", ()))))
            del fields["also"]
        name = f"{evaluator.name}-function" if loader else evaluator.name
        conventions.append(Convention(name, **fields, oddities=evaluator.oddities))
    return conventions


def _fields_of(toolbox: Mapping[str, Any]) -> dict[str, Any]:
    distance = {**NO_FEATURES, **toolbox}
    metric, normalize = FORMULAS[distance["formula"]]
    return dict(metric=metric, normalize=normalize, measure=distance["measure"],
                reranking=toolbox.get("reranking"))


class _Conventions(dict[str, Convention]):
    """The records by name; under a further name a record has that name, its distances, its
    re-ranking and its gallery.

    Under another name it is that of an installed package, which is no part of lists and `all`.
    """

    def __missing__(self, name: str) -> Convention:
        if name not in NAMES and (
                record := extensions.declared_record("convention", name, Convention)):
            return record
        copy = _COPY_NAMED[name.removesuffix("-function")]
        return replace(self[NAMES[name]], name=name, **_fields_of(copy),
                       queries_first=copy.get("queries_first", False))


CONVENTIONS: Mapping[str, Convention] = MappingProxyType(_Conventions(
    (record.name, record) for toolbox in TOOLBOX_TABLES
    for record in toolbox_conventions(toolbox)))

#: Convention to its bare function: the evaluator without the loader, which ranks images labelled
#: -1 as well.
FUNCTIONS = MappingProxyType({
    evaluator.name: f"{evaluator.name}-function" for toolbox in TOOLBOX_TABLES
    if "loader" in toolbox for evaluator in procedures_of(toolbox)})

#: Bare function to its convention.
TOOLBOXES = MappingProxyType({function: name for name, function in FUNCTIONS.items()})

#: Conventions that `--convention all` leaves out, with the reason.
NOT_IN_ALL = MappingProxyType({**_TABLES["left_out"], **{function: _TABLES["left_out"].get(
    name, "the evaluator without its toolbox's loader; ask for it by name")
    for name, function in FUNCTIONS.items()}})


def left_out(query: Labels, gallery: Labels) -> dict[str, str]:
    """Return the conventions that are not tried on these labels unless by name, with the reason.

    `sysu-mm01` is tried if the cameras are those of its queries and its gallery; bare functions
    if an image is labelled -1, without which they are their toolboxes. Without cameras, what looks
    at them is not.

    Examples
    --------
    >>> query, gallery = Labels([7], [3]), Labels([7, 8], [2, 5])
    >>> sorted(NOT_IN_ALL.keys() - left_out(query, gallery).keys())
    ['sysu-mm01']
    """
    reasons = dict(NOT_IN_ALL)
    if all(labels.camera is not None and np.isin(labels.camera, cameras).all()
           for labels, cameras in zip((query, gallery), SYSU_CAMERAS)):
        del reasons["sysu-mm01"]
    if (gallery.identity == JUNK).any() or (query.identity == JUNK).any():
        for function in FUNCTIONS.keys() - NOT_IN_ALL.keys():
            del reasons[FUNCTIONS[function]]
    return {**lacking_cameras(CONVENTIONS.values(), query), **reasons}


def lacking_cameras(conventions: Iterable[Convention], query: Labels) -> dict[str, str]:
    """Return the conventions that look at cameras, if the labels have none, with the reason.

    Examples
    --------
    >>> lacking_cameras(find_conventions(["matlab", "simpleir"]), Labels([7]))
    {'matlab': 'needs cameras, which the labels lack'}
    """
    if query.camera is not None:
        return {}
    return {convention.name: "needs cameras, which the labels lack"
            for convention in conventions if convention.needs_cameras}


#: Further names, and the record that each means.
ALIASES: Mapping[str, str] = MappingProxyType({
    alias: copy["evaluator"] for copy in COPIES for alias in copy["names"]})

_COPY_NAMED = {alias: copy for copy in COPIES for alias in copy["names"]}

#: Every name, those of bare functions too, and the record that it means.
NAMES = MappingProxyType({
    **{f"{alias}-function": FUNCTIONS[name] for alias, name in ALIASES.items()
       if name in FUNCTIONS},
    **ALIASES, **{name: name for name in CONVENTIONS}})


_BY_CANONICAL_NAME = {extensions.canonical(name): name for name in NAMES}


def every_convention() -> dict[str, Convention]:
    """Return the records by name, then those of installed packages."""
    return {**CONVENTIONS, **extensions.installed("convention", Convention, NAMES)}


def check_known(name: Any, argument: str, more: Iterable[str] = ()) -> None:
    """Refuse a name that is neither here nor that of an installed package; nothing is imported."""
    if isinstance(name, str) and (known_as(name) in NAMES or name in more):
        return
    further = extensions.declared_names("convention")
    if extensions.canonical(str(name)) not in map(extensions.canonical, further):
        check_choice(name, argument, dict.fromkeys([*CONVENTIONS, *ALIASES, *further, *more]))


def known_as(name: str) -> str:
    """Return a name of a convention as it is written here, given in any case, without - and _.

    Any other name comes back as it is, so that the error can name it.

    Examples
    --------
    >>> known_as("transreid"), known_as("fastreid"), known_as("nothing")
    ('TransReID', 'fast-reid', 'nothing')
    """
    return _BY_CANONICAL_NAME.get(extensions.canonical(name), name)


def find_convention(convention: str | Convention, argument: str = "convention") -> Convention:
    """Return the record of that name, or the record itself.

    The record has the name that was given, also if it is a further name of it.
    `argument` names the argument in messages.

    Raises
    ------
    InputError
        An unknown name; the known ones and the nearest are listed.

    Examples
    --------
    >>> find_convention("agw").name, find_convention("agw").base
    ('AGW', 'torchreid')
    """
    if isinstance(convention, Convention):
        return convention
    check_known(convention, argument)
    return CONVENTIONS[known_as(convention)]


def find_conventions(conventions: str | Convention | Iterable[str | Convention],
                     ) -> list[Convention]:
    """Return the records of one or several names.

    Raises
    ------
    InputError
        An unknown name, none, or two records of one name.

    Examples
    --------
    >>> [convention.name for convention in find_conventions("matlab")]
    ['matlab']
    """
    if isinstance(conventions, (str, Convention)) or not isinstance(conventions, Iterable):
        conventions = [conventions]
    records = [find_convention(convention) for convention in conventions]
    names = [convention.name for convention in records]
    if not names:
        raise InputError("convention", "at least one", "none")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError("convention", "different names", f"{twice[0]!r} twice",
                         "replace(name=...) gives one of them another")
    return records


def choices_of_text(texts: Iterable[str], name: str) -> dict[str, Any]:
    """Return the value of each field of a convention that is named, e.g. ``ap=step,top_k=100``.

    Several values of `ignored` are joined by +, as in a signature; "nothing" is none of them.

    Parameters
    ----------
    texts : iterable of str
    name : str
        What messages begin with.

    Raises
    ------
    InputError
        An unknown field or value (the known ones are listed), or a field that is named twice.

    Examples
    --------
    >>> choices_of_text(["ap=step,top_k=100", "ignored=label -1+same camera"], "--set")
    {'ap': 'step', 'top_k': 100, 'ignored': ('label -1', 'same camera')}
    """
    changes: dict[str, Any] = {}
    # A value may have a comma of its own: "same identity, same camera".
    for text in (part for given in texts for part in re.split(r",(?=[^,=]*=)", given)):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(name, "KEY=VALUE, e.g. ap=step", repr(text))
        check_choice(key, name, [*CHOICES, "top_k"], f"--{key}" * (key in ("metric", "normalize")))
        if key in changes:
            raise InputError(name, f"{key} once", "it twice", "leave one out")
        changes[key] = _value(key, value, f"{name} {key}")
    return changes


def _value(key: str, text: str, name: str) -> Any:
    if key == "ignored":
        rules = () if text == "nothing" else tuple(rule.strip() for rule in text.split("+"))
        for rule in rules:
            check_choice(rule, name, IGNORED)
        return rules
    if key in ("top_k", "cmc_length") and re.fullmatch("[0-9]{1,18}", text):
        return int(text)
    if key == "top_k":
        if text != "None":
            raise InputError(name, "a whole number from 1, or None", repr(text))
        return None
    check_choice(text, name, [*CMC_LENGTH, "a number"] if key == "cmc_length"
                 else known_values(key, text))
    return text


def changed(convention: Convention, changes: Mapping[str, Any], name: str) -> Convention:
    """Return the convention with these choices; itself if it has them already.

    Raises
    ------
    InputError
        Choices that do not go together; the message begins with `name`.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> [changed(CONVENTIONS[one], {"ap": "step"}, "--set").name for one in ("matlab", "mars",
    ...                                                                      "torchreid")]
    ['matlab[ap=step]', 'mars[ap=step]', 'torchreid']
    """
    new = {key: value for key, value in changes.items() if getattr(convention, key) != value}
    with errors_at(f"{name}, convention {convention.name}"):
        return convention.replace(**new) if new else convention
