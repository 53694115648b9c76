"""Pairs of cameras as a picture."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from reid_ref.arrays import InputError

from reid_ref.evaluation.camera_pairs import CameraPairs


#: Suffixes of files that `heat_map` writes, and how many cameras a picture can show.
PICTURES = (".png", ".pdf", ".svg")
PICTURE_CAMERAS = 100


def check_picture(path: str | Path) -> None:
    """Refuse, before any work, a heat map that could not be drawn afterwards.

    Raises
    ------
    InputError
        A suffix that is not in `PICTURES`; matplotlib is not installed.
    """
    if Path(path).suffix.lower() not in PICTURES:
        raise InputError(f"{path}: expected a name that ends in {', '.join(PICTURES)}")
    try:
        import matplotlib  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        raise InputError(f"{path}: drawing needs matplotlib, which is not installed; "
                         'pip install "reid-ref[plot]"') from None


def heat_map(pairs: CameraPairs, path: str | Path) -> None:
    """Draw both matrices of means, in percent; pairs without a score stay blank.

    Parameters
    ----------
    pairs : CameraPairs
    path : str or path
        File to write, .png, .pdf or .svg.

    Raises
    ------
    InputError
        Another suffix, matplotlib missing, more cameras than a picture can show, or a file that
        cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from reid_ref import Labels, camera_pairs
    >>> pairs = camera_pairs([[.1, .2]], Labels([7], [1]), Labels([7, 8], [2, 2]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     heat_map(pairs, Path(folder) / "pairs.png")
    ...     [path.name for path in Path(folder).iterdir()]
    ['pairs.png']
    """
    check_picture(path)
    from matplotlib.figure import Figure

    from reid_ref.files.writing import whole_files

    n = len(pairs.cameras)
    if n > PICTURE_CAMERAS:
        raise InputError(f"cameras: expected at most {PICTURE_CAMERAS} in a heat map, got {n}; "
                         "are these the numbers of cameras?")
    side = max(3.2, 0.46 * n)
    figure = Figure(figsize=(2 * side + 2.2, side + 1.2), layout="constrained")
    panels = figure.subplots(1, 2, squeeze=False)[0]
    for panel, name, matrix, mean in (
            (panels[0], "mAP", pairs.ap_matrix, pairs.mean_ap),
            (panels[1], "Rank-1", pairs.rank1_matrix, pairs.mean_rank1)):
        image = panel.imshow(100 * matrix, vmin=0, vmax=100, cmap="viridis")
        for (i, j), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                panel.text(j, i, f"{100 * value:.1f}", ha="center", va="center", fontsize=8,
                           color="black" if value > 0.6 else "white")
        panel.set_title(f"{name} (%)\n" + ("" if np.isnan(mean) else
                        f"mean over different cameras: {100 * mean:.2f}"), fontsize=10)
        panel.set_xlabel("gallery camera")
        panel.set_ylabel("query camera")
        panel.set_xticks(range(n), pairs.cameras.tolist())
        panel.set_yticks(range(n), pairs.cameras.tolist())
    figure.colorbar(image, ax=panels, label="percent", shrink=0.8)
    figure.suptitle(f"Pairs of cameras (rule: {pairs.rule})", fontsize=12)
    with whole_files(path, mode="wb") as (file,):
        figure.savefig(file, dpi=150, format=Path(path).suffix[1:].lower())
