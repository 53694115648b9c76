"""How to cite this tool."""
from __future__ import annotations

from reid_ref._version import __version__

#: As CITATION.cff of the repository has them, which an installed package lacks.
TITLE = "reid-ref: the reference evaluator of person re-identification"
AUTHOR = "The reid-ref authors"
LICENSE = "MIT"


def bibtex() -> str:
    """Return a BibTeX entry of this version.

    Inner braces keep capitals, and the name of a group in one piece.
    """
    return "\n".join([
        "@misc{reid-ref,",
        f"  author = {{{{{AUTHOR}}}}},",
        f"  title = {{{{{TITLE}}}}},",
        f"  note = {{Version {__version__}, {LICENSE} license}}",
        "}"])
