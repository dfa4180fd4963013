"""Encoding: numbers, yes/no and categories become the numbers that `PublicScaling` scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import (
    MISSING_REMEDY,
    NEAR_MISS,
    alike,
    cells,
    column_names,
    miscounted,
    no_query,
    numeric_frame,
)
from botorch_private.curator.features.kinds import Category, FeatureKind, Number
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.privacy.history_promise import HistoryPromise
from botorch_private.privacy.steps import Step


class Encoding:
    """Public map from declared features to numeric columns, the same for every table.

    Numbers stay as they are. A yes/no is 0 or 1. A category with ``m`` values becomes ``m`` columns of
    0 and 1. The map never increases a distance beyond the declared one and looks at one record at a
    time, so that a guarantee on `scaling` is one on the features: a record whose category changes moves
    by `widths` of that feature.

    Args:
        features: Declared kinds, such as ``Number("age", 18, 100)``; all with a length-scale or none.
        radius: Of the ball that scaled records lie in, in units.
        history: As in `PublicScaling`.

    Raises:
        ValueError: If two columns would have the same name, or a range is unusable.

    Example:
        >>> import pandas
        >>> encoding = Encoding([Number("age", 18, 100), Category("ward", ("icu", "er"))])
        >>> stays = pandas.DataFrame({"age": [41, 87], "ward": ["icu", "er"]})
        >>> curator = Curator(encoding.encode(stays), encoding.scaling, mechanism, [1.0, 2.0])
    """

    def __init__(
        self,
        features: Sequence[FeatureKind],
        radius: float = 25.0,
        *,
        history: HistoryPromise | None = None,
    ) -> None:
        self.features = tuple(features)
        for position, each in enumerate(self.features):
            if not isinstance(each, FeatureKind):
                raise TypeError(
                    f"features must be Number, YesNo or Category, got a {type(each).__name__} at "
                    f"position {position}"
                )
        self.names = tuple(name for each in self.features for name in each.columns)
        for name in self.names:
            if self.names.count(name) > 1:
                raise ValueError(f"features must give different columns, but two are named {name!r}")
        given = [each.name for each in self.features if each.lengthscale is not None]
        if given and len(given) < len(self.features):
            missing = next(each.name for each in self.features if each.lengthscale is None)
            raise ValueError(
                f"feature {missing!r} must have a lengthscale, because {given[0]!r} has one"
            )
        plain = not given and all(isinstance(each, Number) for each in self.features)
        self.scaling = PublicScaling(
            [each.lower for each in self.features for _ in each.columns],
            [each.upper for each in self.features for _ in each.columns],
            None if plain else [each.shape for each in self.features for _ in each.columns],
            radius=radius,
            names=self.names,
            choices={each.name: each.columns for each in self.features if not isinstance(each, Number)},
            scale=[
                each.scale if isinstance(each, Number) else "linear"
                for each in self.features
                for _ in each.columns
            ],
            history=history,
        )

    @property
    def widths(self) -> dict[str, float]:
        """Largest distance that a feature alone can move a record by, in units.

        For a yes/no or a category it is the distance of any two values.
        """
        widths = dict(zip(self.names, self.scaling.widths.tolist(), strict=True))
        widths |= {step.name: step.width for step in self.steps}
        return {each.name: widths[each.name] for each in self.features}

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps between two values of each feature that is not a number."""
        return self.scaling.steps

    @property
    def diameter(self) -> float:
        """Largest distance of two records, in units; at most twice the radius of the scaling."""
        return math.hypot(*self.widths.values())

    def encode(self, table: Any, *, source: str = "records", first_row: int = 0) -> Tensor:
        """Turn a data frame into numbers.

        Args:
            table: Data frame of pandas, polars or pyarrow, with a column for each feature at least.
            source: What to call it in messages.
            first_row: Number of its first row in messages.

        Returns:
            ``n x d'`` float64 tensor, for `scaling`; its columns are `names`.

        Raises:
            ValueError: If a column is missing or stands twice, or a value is missing (where the feature
                does not say what that counts as), none that was declared, or no finite number: the
                message names row and column, never the value.
        """
        no_query(source, table)
        columns = column_names(table)
        if columns is None:
            raise ValueError(
                f"{source} must be a data frame with the declared columns, got {type(table).__name__}"
            )
        for each in self.features:
            if problem := miscounted(columns, each.name):
                raise ValueError(f"{source} must have one column {each.name!r}, but {problem}")
        parts = [self._encoded(each, table, source, first_row) for each in self.features]
        return torch.from_numpy(np.concatenate(parts, axis=1))

    def decode(self, rows: Any) -> dict[str, list[Any]]:
        """Name the value nearest to each row, such as an attacker's estimates.

        Args:
            rows: ``n x d'`` numbers in the columns `names`, raw as `encode` or
                ``scaling.inverse`` returns them.

        Returns:
            ``n`` values of each feature: numbers, booleans, and categories.
        """
        table = validate.matrix(columns=len(self.names), rows=rows).numpy()
        decoded, start = {}, 0
        for each in self.features:
            end = start + len(each.columns)
            decoded[each.name] = each.decode(table[:, start:end])
            start = end
        return decoded

    def __repr__(self) -> str:
        return f"Encoding(features={[each.name for each in self.features]}, columns={len(self.names)})"

    @staticmethod
    def _encoded(feature: FeatureKind, table: Any, source: str, first_row: int) -> np.ndarray:
        if isinstance(feature, Number):
            one = table.select([feature.name]) if hasattr(table, "select") else table[[feature.name]]
            if feature.missing is not None:
                one = numeric_frame(source, one, [feature.name], missing_value=feature.missing)
            found = validate.matrix(column_names=(feature.name,), **{source: one}).numpy()
            wrong = found[:, 0] <= 0
            if feature.scale == "log" and wrong.any():
                raise ValueError(
                    f"{source} must hold numbers above 0 on a log scale, got 0 or less "
                    f"{_place(wrong, feature.name, first_row)}: correct the cell, or declare a linear "
                    f"scale"
                )
            return found
        found, missing = cells(table, feature.name)
        if missing.any() and feature.missing_code is None:
            raise ValueError(
                f"{source} must have no missing values, got one "
                f"{_place(missing, feature.name, first_row)}; {MISSING_REMEDY}"
            )
        codes = feature.encode(found)
        if feature.missing_code is not None:
            codes[missing] = feature.missing_code
        wrong = np.isnan(codes[:, 0])
        if wrong.any():
            near = _near(feature, found, wrong)
            raise ValueError(
                f"{source} must hold {feature.wanted}, got something else "
                f"{_place(wrong, feature.name, first_row)}: {feature.remedy}{near}"
            )
        return codes


def _near(feature: FeatureKind, cells: Sequence[Any], wrong: np.ndarray) -> str:
    """Say that the first wrong cell is a near miss of a declared category."""
    cell = alike(cells[int(np.flatnonzero(wrong)[0])])
    close = isinstance(feature, Category) and cell in map(alike, feature.categories)
    return f" (it {NEAR_MISS})" if close else ""


def _place(bad: np.ndarray, name: str, first_row: int) -> str:
    others = int(bad.sum()) - 1
    more = f" (and {others} more in this column)" if others else ""
    return f"in row {int(np.flatnonzero(bad)[0]) + first_row}, column {name!r}{more}"
