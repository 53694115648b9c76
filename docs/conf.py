"""How Sphinx builds the pages; those of conventions, protocols and API are written first."""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated  # noqa: E402  (lies beside this file)
import protocol_pages  # noqa: E402
import reid_ref  # noqa: E402

project = "reid-ref"
author = "The reid-ref authors"
copyright = author
release = version = reid_ref.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
smartquotes = False  # quotes of code stay as they are
html_theme = "furo"
html_title = f"reid-ref {release}"
html_copy_source = False
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 2
autodoc_typehints = "none"  # the types stand in the docstrings
autodoc_member_order = "bysource"
numpydoc_show_class_members = False


def setup(app):
    """Write the generated pages before Sphinx looks for pages."""
    for pages in (generated, protocol_pages):
        app.connect("builder-inited", lambda _, pages=pages: pages.write(HERE))
