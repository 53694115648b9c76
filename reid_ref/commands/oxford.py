"""`reid-ref oxford`: average precision of ranked lists of names, as compute_ap prints it."""
import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reid_ref.console.request import Request
from reid_ref.console.terminal import show
from reid_ref.console.words import add_argument
from reid_ref.datasets import oxford
from reid_ref.text import visible


def as_lines(answers: Mapping[str, np.float32], mAP: float) -> str:
    """Return one line per query, name and AP, then mAP."""
    lines = [f"{visible(name)} {oxford.six_digits(ap)}" for name, ap in answers.items()]
    return "\n".join([*lines, f"mAP {oxford.six_digits(mAP)} (mean of all {len(answers)} queries, "
                              "unrounded, in double precision)"])


@dataclass(frozen=True, kw_only=True)
class OxfordRequest(Request):
    """What the command line requests."""

    ground_truth: str
    ranked: str


def add(command: argparse.ArgumentParser) -> None:
    """Print the average precision of a ranked list of names: the same arguments and the same six
    digits as Oxford's compiled compute_ap. Of two folders: one line per query, name and AP, then
    mAP.

    Examples:
        reid-ref oxford fixtures/oxford/query_1 fixtures/oxford/ranked/query_1.txt
        reid-ref oxford fixtures/oxford fixtures/oxford/ranked

    mAP is the mean of the unrounded APs of all queries of the ground truth, added in order of name
    in double precision. In the folder of ranked lists, a query's is NAME.txt or NAME_ANYTHING.txt;
    other files are not read.
    """
    add_argument(command, "ground_truth")
    add_argument(command, "ranked")


def run(request: OxfordRequest) -> None:
    if Path(request.ground_truth).is_dir():
        answers = oxford.evaluate_folder(request.ground_truth, request.ranked)
        show(as_lines(answers, oxford.mean_average_precision(answers)))
    else:
        show(oxford.six_digits(oxford.evaluate_query(request.ground_truth, request.ranked)))
