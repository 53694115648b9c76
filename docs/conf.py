"""How Sphinx builds the pages; those of records, commands and functions are written first."""
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import api_pages  # noqa: E402  (lies beside this file)
import command_pages  # noqa: E402
import generated  # noqa: E402
import layout_pages  # noqa: E402
import protocol_pages  # noqa: E402
import reid_ref  # noqa: E402

RUN_IN = tempfile.TemporaryDirectory()  # the examples write beside themselves

project = "reid-ref"
author = "The reid-ref authors"
copyright = author
release = version = reid_ref.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc",
              "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "examples", "**sg_execution_times.rst"]
sphinx_gallery_conf = {
    "examples_dirs": shutil.copytree(HERE / "examples", f"{RUN_IN.name}/examples"),
    "gallery_dirs": "gallery", "filename_pattern": ".",
    "within_subsection_order": "FileNameSortKey", "show_signature": False,
    "min_reported_time": 600, "capture_repr": (), "abort_on_example_error": True}
smartquotes = False  # quotes of code stay as they are
html_theme = "furo"
html_title = f"reid-ref {release}"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 2
autodoc_typehints = "none"  # the types stand in the docstrings
autodoc_member_order = "bysource"
numpydoc_show_class_members = False


def index_names(_app, page, source):
    """Index the names of arrays on the page of files, which a search for one then finds first."""
    if page == "files":
        before, head, after = source[0].partition("## Names\n")
        names = set(re.findall(r"`([a-zA-Z]\w+)`", after.partition("\n## ")[0]))
        entries = ", ".join(f"!{name}" for name in sorted(names))  # main entries come first
        source[0] = f"{before}{head}\n```{{index}} {entries}\n```\n{after}"


def setup(app):
    """Write the generated pages before Sphinx looks for pages; docstrings before numpydoc."""
    app.connect("source-read", index_names)
    app.connect("autodoc-process-docstring", api_pages.describe_shared, priority=100)
    for pages in (generated, protocol_pages, api_pages, command_pages, layout_pages):
        app.connect("builder-inited", lambda _, pages=pages: pages.write(HERE))
