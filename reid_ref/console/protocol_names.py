"""The protocol that a command line names, and how its files are read."""
from pathlib import Path

from reid_ref.console.request import Request
from reid_ref.files.layouts import Reading
from reid_ref.protocols import Protocol, find_protocol, read_protocol


def protocol_or_file(name: str, argument: str) -> Protocol:
    """Return the protocol of a name, or of a .toml or .json file."""
    return read_protocol(name) if is_file(name) else find_protocol(name, argument)


def is_file(name: str) -> bool:
    """Return whether what is named is a file of a protocol."""
    return Path(name).suffix.lower() in (".toml", ".json")


def reading(request: Request) -> Reading:
    """Return what the protocol, if one is named, adds to the names of arrays.

    Where an image itself is ignored, one set is both sides.
    """
    named = (Reading() if request.protocol is None else
             protocol_or_file(request.protocol, "--protocol").reading)
    itself = any("itself" in choice for choice in request.choices)
    return named._replace(same_images=named.same_images or itself)
