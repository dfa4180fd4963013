"""RangesDocument: what `ranges check --json` prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from botorch_private.cli.documents.document import Document
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, FeatureKind, Number


@dataclass(frozen=True)
class DeclaredFeature:
    """A feature, as the file declares it."""

    name: Annotated[str, "of the feature"]
    kind: Annotated[str, '"number", "boolean" or "category"']
    lower: Annotated[float | None, "smallest value of a number, in raw units; else null"]
    upper: Annotated[float | None, "its largest value"]
    categories: Annotated[list[str] | None, "all that there are, of a category; else null"]
    edges: Annotated[list[float], "where cells end, of a number; may be empty"]
    missing: Annotated[float | bool | str | None, "what a missing value counts as; null: it is refused"]
    lengthscale: Annotated[float | None, "as declared; null: half of the range, or of a step"]
    unit: Annotated[
        float,
        "one unit of distance: of a number in its raw unit, or as a factor on a log scale; of others "
        "as a share of a step",
    ]
    scale: Annotated[str | None, '"linear" or "log", of a number; else null']
    width: Annotated[float, "farthest that this feature alone moves a record, in units"]


@dataclass(frozen=True)
class RangesDocument(Document):
    """What declared ranges amount to; public, as the file is."""

    FORMAT: ClassVar[str] = "ranges"
    features: Annotated[list[DeclaredFeature], "in the order of the file"]
    columns: Annotated[list[str], "numeric columns that hold them: a category has several"]
    radius: Annotated[float, "of the ball that scaled records lie in, in units"]
    diameter: Annotated[float, "farthest that two records are apart, in units"]
    history: Annotated[str | None, "what people of a history are promised; null where none was used"]

    @classmethod
    def of(cls, encoding: Encoding) -> RangesDocument:
        """That of declared features."""
        promise, widths = encoding.scaling.history, encoding.widths
        return cls(
            features=[_feature(each, widths[each.name]) for each in encoding.features],
            columns=list(encoding.names),
            radius=encoding.scaling.radius,
            diameter=encoding.diameter,
            history=None if promise is None else promise.said,
        )


def _unit(feature: FeatureKind, width: float) -> float:
    if not isinstance(feature, Number):
        return 1 / width
    if feature.scale == "log":
        return math.exp(math.log(feature.upper / feature.lower) / width)
    return (feature.upper - feature.lower) / width


def _feature(feature: FeatureKind, width: float) -> DeclaredFeature:
    number = isinstance(feature, Number)
    return DeclaredFeature(
        name=feature.name,
        kind=feature.kind,
        lower=feature.lower if number else None,
        upper=feature.upper if number else None,
        categories=list(feature.categories) if isinstance(feature, Category) else None,
        edges=list(feature.edges) if number else [],
        missing=feature.missing,
        lengthscale=feature.lengthscale,
        unit=_unit(feature, width),
        scale=feature.scale if number else None,
        width=width,
    )
