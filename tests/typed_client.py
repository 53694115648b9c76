"""What users write, for mypy --strict (tests/test_package.py) and pyright (.ci/release)."""
# pyright: strict
import numpy as np

import reid_ref


def numbers() -> tuple[float, list[float]]:
    query = reid_ref.Labels([7], [1])
    gallery = reid_ref.Labels(identity=[7, 8], camera=(2, 2))
    result = reid_ref.evaluate_distances(np.array([[0.1, 0.2]]), query, gallery)
    mean: float = result.mAP + result.rank(1)
    return mean, result.per_query.ap.tolist()


def several() -> dict[str, float]:
    query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2])
    lists = reid_ref.IndexLists(good=[[0]], junk=[[1]])
    listed = reid_ref.evaluate_distances(
        [[0.1, 0.2]], query, gallery, convention="veri", lists=lists)
    results = reid_ref.evaluate_distances(
        [[0.1, 0.2]], query, gallery, convention=["matlab", "torchreid"])
    return {"veri": listed.mAP, **{name: result.mAP for name, result in results.items()}}


def of_a_file(path: str) -> list[str]:
    data = reid_ref.read(path)
    findings: list[reid_ref.Finding] = reid_ref.doctor(data)
    protocol = reid_ref.protocols.find_protocol("market1501")
    return [*map(str, findings), protocol.name, *reid_ref.CONVENTIONS]


def in_training(batches: list[tuple[list[list[float]], list[int], list[int], bool]]) -> float:
    evaluator = reid_ref.Evaluator()
    for features, pids, camids, is_query in batches:
        evaluator.update(features, pids, camids, is_query=is_query)
    return evaluator.compute().mAP + several_in_training(evaluator)["matlab"].mAP


def several_in_training(one: reid_ref.Evaluator) -> dict[str, reid_ref.Result]:
    evaluator = reid_ref.Evaluator(convention=["matlab", "torchreid"])
    mean: float = one.compute().mAP
    return evaluator.compute() if mean else {}


evaluate_rank = reid_ref.compat.torchreid.evaluate_rank
