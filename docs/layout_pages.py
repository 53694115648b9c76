"""The pages of the file layouts, one for each record of `reid_ref.files.LAYOUTS`; their list."""
from generated import table, write_pages

from reid_ref.files import LAYOUTS, SEPARATE
from reid_ref.files.layouts import OPTIONAL

#: The shape of each role's array, and numpy's words for some of it: 2 queries, 3 gallery images.
SHAPES = {
    "query_features": ("queries x dimensions", "np.eye(4)[:2]"),
    "gallery_features": ("gallery x dimensions", "np.eye(4)[[1, 0, 2]]"),
    "distances": ("queries x gallery", "np.array([[.2, .1, .3], [.1, .4, .2]])"),
    "query_identity": ("queries", "np.array([1, 2])"),
    "query_camera": ("queries", "np.array([1, 1])"),
    "gallery_identity": ("gallery", "np.array([2, 1, 0])"),
    "gallery_camera": ("gallery", "np.array([2, 2, 3])"),
    "features": ("images x dimensions", "np.eye(4)[[0, 1, 1, 0, 2]]"),
    "identity": ("images", "np.array([1, 2, 2, 1, 0])"),
    "camera": ("images", "np.array([1, 1, 2, 2, 3])"),
    "is_query": ("images", 'np.repeat(["query", "gallery"], [2, 3])')}
#: The files of `SEPARATE`: names that are recognised.
FILES = {
    "features": "IDE_query.mat IDE_test.mat queryID.mat queryCAM.mat testID.mat testCAM.mat",
    "npy": "qf.npy gf.npy q_pids.npy q_camids.npy g_pids.npy g_camids.npy",
    "distances": "query_gallery_distance.txt query_id.txt query_cam.txt gallery_id.txt "
                 "gallery_cam.txt"}


def write(folder):
    """Write docs/layouts/."""
    write_pages(folder / "layouts", {
        "index.md": index(), **{f"{name}.md": page(name) for name in LAYOUTS}})


def page(name):
    """Return the page of a layout: its arrays, and the lines that write and read it."""
    layout = LAYOUTS[name]
    rows, arrays = [], []
    for role, key in layout.keys.items():
        axes, array = SHAPES[role][0].split(" x "), SHAPES[role][1]
        turned = layout.columns and len(axes) == 2  # one column per image, or per query
        shape = " x ".join(reversed(axes) if turned else axes)
        rows.append((f"`{key}`", role.replace("_", " "), shape))
        arrays.append(f"{key}={array}" + ".T" * turned)
    return "\n".join([
        f"# {layout.title}\n", f"The names of {layout.source}. Any format that reid-ref reads may "
        "have them: `.mat`, `.npz`, HDF5, `.pt`, a folder of `.npy` files.\n",
        *table(["array", "what it is", "shape"], rows), "",
        "Optional, as text or numbers per image: "
        + ", ".join(f"`{key}`" for key in OPTIONAL) + ". Other arrays are not read.\n",
        "Written and read:\n", "```python", "import numpy as np\nimport reid_ref\n",
        'np.savez("result.npz",\n         ' + ",\n         ".join(arrays) + ")",
        'data = reid_ref.read("result.npz")',
        "print(data.layout)", "```\n", "```text", f"{layout.title}, in a .npz file", "```\n",
        "On the command line: `reid-ref evaluate result.npz`. [All files](../files.md).\n"])


def one_file():
    """Return the layouts of one file: title, names of the arrays."""
    return [(layout.title, ", ".join(f"`{key}`" for key in layout.keys.values()))
            for layout in LAYOUTS.values()]


def several_files():
    """Return the layouts of several files: title, names of files for example."""
    return [(title, ", ".join(f"`{file}`" for file in FILES[name].split()))
            for name, title in SEPARATE.items()]


def index():
    """Return the list of the layouts, and of the files with one array each."""
    one = [(f"[{title}]({name}.md)", arrays)
           for name, (title, arrays) in zip(LAYOUTS, one_file())]
    return "\n".join([
        "# File layouts\n", "Most files need no layout: [any usual name](../files.md#names) is "
        "recognised. These are read as their scripts mean them.\n", "## One file\n",
        *table(["layout", "arrays"], one), "", "## Several files\n",
        "In any order: `reid-ref evaluate FILE FILE ...`.\n",
        *table(["layout", "files, for example"], several_files()), "",
        "```{toctree}", ":hidden:", "", *LAYOUTS, "```\n"])
