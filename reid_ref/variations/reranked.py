"""Re-ranking as toolboxes do it by default, one variation for each of their settings."""
from collections.abc import Callable, Iterator
from dataclasses import replace

from reid_ref.conventions import CONVENTIONS, NAMES, Convention
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.reranking.encoding import VARIANTS
from reid_ref.reranking.k_reciprocal import reranked_results
from reid_ref.reranking.settings import Settings, by_settings, settings_of
from reid_ref.result import Result
from reid_ref.variations.labels import needs_features, sides_of
from reid_ref.variations.variation import Variation

#: Threads that ask whether a printed number is after re-ranking.
_THREADS = ("fast-reid #3, #357; layumi #74, #233; IDKL #4; RPTM_reid #6; "
            "Ranked_Person_ReID #13; cvlab-yonsei/projects #7; person-re-ranking #15")
#: By `Variant.distance`: what the code is given in the place of the paper's squared distances.
_SQUARES = {"squared": "with distances squared once",
            "fourth": "with squared distances squared again",
            "cosine-fourth": "with squared distances (2 - 2 cosine) squared again"}


#: The variant, and its k1, that is also tried with its Jaccard distances alone.
_ALONE, _K1 = "strong-baseline", 20


def settings_of_toolboxes() -> dict[Settings, list[Convention]]:
    """Return the settings that toolboxes re-rank by, each with its toolboxes.

    Those that share neighbours follow each other.
    """
    found = by_settings(record for record in map(CONVENTIONS.__getitem__, NAMES)
                        if record.reranking and not record.base.endswith("-function"))
    return dict(sorted(found.items(), key=lambda each: (
        each[0].normalize, each[0].without_junk, VARIANTS[each[0].variant].distance)))


def reranked() -> Iterator[Variation]:
    """Yield a variation for each setting; the variant alone is its name where it has only one."""
    every = settings_of_toolboxes()
    jaccard = {replace(settings, lambda_=0.0): records for settings, records in every.items()
               if settings.variant == _ALONE and settings.k1 == _K1}
    for settings, records in [*every.items(), *jaccard.items()]:
        others = [each for each in every if each.variant == settings.variant and each != settings]
        name = f"reranked-{settings.variant}"
        if any((each.k1, each.k2) != (settings.k1, settings.k2) for each in others):
            name += f"-{settings.k1}"
        name += "-raw" * (not settings.normalize and any(each.normalize for each in others))
        if settings.without_junk and replace(settings, without_junk=False) in others:
            name += "-no-junk"
        name += "-jaccard" * (settings in jaccard)
        reranking = records[0].reranking
        assert reranking is not None
        yield Variation(
            name, f"after re-ranking as {', '.join([each.name for each in records][:3])} do"
            + "es" * (len(records) == 1) + f", {_SQUARES[VARIANTS[settings.variant].distance]} "
            f"({settings.variant}, k1 {settings.k1}, k2 {settings.k2}, lambda "
            f"{settings.lambda_:g}" + ": Jaccard distances alone" * (settings in jaccard) + ")",
            f"{_THREADS}; {', '.join(each.name for each in records[:4])}: {reranking.source}",
            threads=9, kind="re-ranking", lacks=_needs_images(settings), rank=_ranks(settings),
            rankings=("normalised" if settings.normalize else "Euclidean",),
            conventions=_loads_alike(settings), pairs=True, neighbours=settings.k1,
            options=f"--variant {settings.variant} --k1 {settings.k1} --k2 {settings.k2} "
            f"--lambda {settings.lambda_:g}")


def _loads_alike(settings: Settings) -> Callable[[Convention], bool]:
    """Return whether a convention has images labelled -1 in the gallery where these have."""
    return lambda convention: not convention.needs_lists and settings == settings_of(
        convention, settings.variant, settings.k1, settings.k2, settings.lambda_,
        settings.normalize)


def _needs_images(settings: Settings) -> Callable[[ResultFile], str]:
    return lambda data: needs_features(data) or f"needs more than {settings.k1 + 1} images" * (
        len(data.query) + len(data.gallery) <= settings.k1 + 1)


def _ranks(settings: Settings) -> Callable[[ResultFile, How], list[Result]]:
    """Return what re-ranks a file by these settings, and evaluates it."""
    return lambda data, how: reranked_results(
        *sides_of(data), data.query, data.gallery, settings, None, how)
