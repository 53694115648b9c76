"""How features are re-ranked: a variant, its numbers, and what is given to it.

What a caller does not give is what the convention's own toolbox does (`Convention.reranking`,
and its distances between features); a toolbox without re-ranking is re-ranked as matlab does.
"""
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from reid_ref.arrays import ConventionWarning, check_choice, warn
from reid_ref.conventions import CONVENTIONS, Convention, Reranking
from reid_ref.evaluation.how import How
from reid_ref.reranking.encoding import VARIANTS

Value = TypeVar("Value")
#: What is done where a toolbox has no re-ranking of its own.
_MATLAB = cast(Reranking, CONVENTIONS["matlab"].reranking)


@dataclass(frozen=True)
class Settings:
    """How features are re-ranked.

    Parameters
    ----------
    variant : str
        A key of `VARIANTS`.
    k1, k2, lambda_
        As for `rerank`.
    normalize : bool
        Each feature is divided by its 2-norm first.
    without_junk : bool
        Gallery images labelled -1 are left out: by the toolbox's loader, or by the variant's.
    """

    variant: str
    k1: Any
    k2: Any
    lambda_: Any
    normalize: bool
    without_junk: bool


def settings_of(convention: Convention, variant: str | None = None, k1: Any = None,
                k2: Any = None, lambda_: Any = None, normalize: bool | None = None) -> Settings:
    """Return how features are re-ranked under a convention: as given, or as its toolbox does."""
    reranking = convention.reranking
    if reranking is None and variant is None:
        warn(f"{convention.name} has no re-ranking of its own: re-ranked as matlab does "
             f"({_MATLAB})", ConventionWarning)
    default = reranking or _MATLAB
    variant = _given(variant, default.variant)
    check_choice(variant, "variant", VARIANTS)
    return Settings(
        variant, _given(k1, default.k1), _given(k2, default.k2),
        _given(lambda_, default.lambda_), _given(normalize, How().distance(convention)[1]),
        VARIANTS[variant].junk == "out" or convention.loads != "all images")


def measured_by(settings: Settings, convention: Convention) -> Convention:
    """Return the convention with distances of raw features if its metric is the cosine."""
    if convention.metric != "cosine" or settings.normalize:
        return convention
    return convention.replace(metric="euclidean", normalize=False, measure="")


def signed_reranking(settings: Settings) -> dict[str, str]:
    """Return the fields of a signature that hold the settings, but for the normalisation."""
    return {"rerank": settings.variant, "k1": str(settings.k1), "k2": str(settings.k2),
            "lambda": str(settings.lambda_)}


def origin_of(reranked: Reranking, convention: Convention) -> str:
    """Return whose re-ranking this is, for the screen."""
    reranking = convention.reranking
    if reranking is None:
        whose = "as matlab does" if str(reranked) == str(_MATLAB) else "as requested"
        return f"{whose}; {convention.name} has no re-ranking of its own"
    if str(reranked) == str(reranking):
        return f"as {convention.name} does ({reranking.source})"
    return f"as requested; the default of {convention.name} is {reranking}"


def by_settings(conventions: Iterable[Convention], *given: Any,
                ) -> dict[Settings, list[Convention]]:
    """Return the conventions that share how features are re-ranked, in their order."""
    groups: dict[Settings, list[Convention]] = {}
    for convention in conventions:
        groups.setdefault(settings_of(convention, *given), []).append(convention)
    return groups


def _given(value: Value | None, default: Value) -> Value:
    return default if value is None else value
