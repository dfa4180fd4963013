"""PublicScaling: declared feature ranges map a record into a ball; nothing is learned."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.frames import require_columns, require_labels, row_labels
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.history_promise import HistoryPromise
from botorch_private.privacy.noise_law import LARGEST_NORM
from botorch_private.privacy.steps import Step
from botorch_private.privacy.warnings import PrivacyLeakWarning

_ROUNDING_MARGIN = 1 + 1e-12
_CHUNK_ENTRIES = 2**18
_LEAST_LOG_UNIT = 1e-4  # so that what rounding does to a logarithm stays below what is charged
_SAME = 1e-12  # relative: the same ranges give the same unit on every machine, but for a last digit


class PublicScaling:
    r"""Affine map of a declared box of feature ranges into a ball, with clipping into the box.

    A raw value outside its range is moved to the nearest end of it: projection onto a convex set,
    which never increases a distance. The box is then centred and each feature divided by
    ``unit``, so that the corners of the box lie on the sphere of the given radius.

    A feature with ``scale="log"`` is first replaced by its natural logarithm, so that distance is
    counted in factors: from 10 to 20 is as far as from 100 to 200. All of the above holds for the
    logarithm, since clipping moves no factor apart: ``|ln clip(x) - ln clip(x')| <= |ln x - ln x'|``.
    What is computed is ``ln(x / c) / unit``, where ``c`` is the geometric mean of both ends. With ``h =
    2^-53`` the first quotient errs by ``h`` of itself, the logarithm by ``8 h`` (as in `noise_law`), the
    second quotient by ``h``. So a scaled value, at most ``R <= 10^4``, errs by ``h / unit + 10 h R`` or
    less. That is at most ``11 * 10^4 h``, since ``unit >= 10^-4`` is required. The noise is charged for
    ``2 (d + 16) 10^4 h`` in each coordinate, of which other steps need less than the half.

    Args:
        lower: Smallest value of each feature, ``d`` floats in raw units. Public: from what the
            feature means, never from the table.
        upper: Largest value of each feature, ``d`` floats in raw units, above `lower`.
        lengthscale: Relative importance: a feature with half the length-scale gets twice the
            resolution. ``d`` floats > 0 in raw units, public as well; of a feature on a log scale it is
            a factor > 1, whose logarithm counts. None: half of each range.
        radius: Radius of the ball, in units of distance; 25 in the paper.
        names: Names of the features, for messages and for the printed guarantee.
        choices: Features that are a yes/no or a category -> the names of the columns that hold them: one
            column that is at either end of its range, or one for each category, of which one is at its
            upper end and the others are at their lower. `Encoding` declares them. None: all are numbers.
        scale: "linear" or "log" for each feature; None: all are linear. A feature on a log scale has a
            range above 0, and a record with a value of 0 or less is refused.
        history: What is promised to other people from whose records the features were chosen, by
            `choose_features`; every guarantee that is built on this scaling says so. None: nobody's.

    It is settled when it is made: what its properties return are copies, so that no later change of
    them can scale records in another way than guarantees say.

    Raises:
        ValueError: If a bound is not finite, ``lower >= upper``, the lengths differ, a log scale has a
            range that is not above 0 or too narrow, or a choice is of columns that are not there, belong
            to another one, or are on a log scale.

    Example:
        >>> scaling = PublicScaling([18.0, 0.0], [100.0, 200.0], names=["age", "weight"])
        >>> scaled = scaling.transform([[59.0, 250.0]])  # the weight is clipped to 200
    """

    @on_cpu_by_default
    def __init__(
        self,
        lower: Any,
        upper: Any,
        lengthscale: Any = None,
        radius: float = 25.0,
        *,
        names: Sequence[str] | None = None,
        choices: Mapping[str, Sequence[str]] | None = None,
        scale: Sequence[str] | None = None,
        history: HistoryPromise | None = None,
    ) -> None:
        if not isinstance(history, (HistoryPromise, NoneType)):
            raise TypeError(f"history must be a HistoryPromise, got a {type(history).__name__}")
        if not isinstance(choices, (Mapping, NoneType)):
            raise TypeError(f"choices must map names to columns, got a {type(choices).__name__}")
        self._lower = validate.vector(lower=lower)
        self._public, self._history = True, history
        if self.features == 0:
            raise ValueError("lower must have at least 1 entry, got 0")
        self._upper = validate.vector(upper=upper, length=self.features)
        self._names = _checked_names(names, self.features)
        for name, given in (("lower", lower), ("upper", upper), ("lengthscale", lengthscale)):
            self._refuse_other_labels(name, given)
            require_labels(name, given, lower, "lower")
        validate.positive(radius=radius)
        if radius > LARGEST_NORM:
            raise ValueError(f"radius must be at most {LARGEST_NORM:g}, got {radius!r}")
        self._radius = float(radius)
        for column in range(self.features):
            if not self._lower[column] < self._upper[column]:
                raise ValueError(
                    f"lower must be below upper, got lower >= upper for {self._name(column)}: "
                    f"{float(self._lower[column])} >= {float(self._upper[column])}"
                )
        self._log = self._checked_scale(scale)
        self._middle = torch.where(self._log, self._lower.sqrt() * self._upper.sqrt(), 1.0)
        low, high = self._on_scale(self._lower), self._on_scale(self._upper)
        centre = torch.where(self._log, 0.0, low / 2 + high / 2)
        half = torch.maximum(high - centre, centre - low)  # the centre is rounded
        shape = half if lengthscale is None else self._checked_lengthscale(lengthscale)
        self._adopt(centre, shape, float((half / shape).norm()))
        self._steps = self._steps_of(choices or {})

    @property
    def lower(self) -> Tensor:
        """Smallest value of each feature, ``d`` floats in raw units."""
        return self._lower.clone()

    @property
    def upper(self) -> Tensor:
        """Largest value of each feature, ``d`` floats in raw units."""
        return self._upper.clone()

    @property
    def unit(self) -> Tensor:
        """What one unit of distance is, ``d`` floats in raw units.

        Of a feature on a log scale it is in natural logarithms: one unit is the factor ``exp(unit)``.
        """
        return self._unit.clone()

    @property
    @on_cpu_by_default
    def widths(self) -> Tensor:
        """How wide each range is, ``d`` floats in units of distance."""
        return self._on_scale(self._upper) / self._unit - self._on_scale(self._lower) / self._unit

    @property
    def scale(self) -> tuple[str, ...]:
        """How distance is counted in each feature: "linear", or "log" where it is in factors."""
        return tuple("log" if log else "linear" for log in self._log.tolist())

    @property
    def log_columns(self) -> tuple[int, ...]:
        """Features on a log scale, by their columns."""
        return tuple(self._log.nonzero().flatten().tolist())

    @property
    def radius(self) -> float:
        """Radius of the ball, in units."""
        return self._radius

    @property
    def features(self) -> int:
        """Number of features, ``d``."""
        return len(self._lower)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, where they were declared."""
        return self._names

    @property
    def steps(self) -> tuple[Step, ...]:
        """How far a change of each of the choices moves a record, in units."""
        return self._steps

    @property
    def history(self) -> HistoryPromise | None:
        """What is promised to other people from whose records the features were chosen."""
        return self._history

    @property
    def public(self) -> bool:
        """Whether nothing was learned from the table."""
        return self._public

    @classmethod
    def from_data(
        cls,
        records: Any,
        radius: float = 25.0,
        *,
        lengthscale: Any = None,
        names: Sequence[str] | None = None,
    ) -> PublicScaling:
        """Scale as the paper does: centre, divide by length-scales, and by the largest norm.

        Everything is learned from the table, so it is not public: `public` is False, and every
        guarantee that is built on this scaling says that it does not hold.

        Args:
            records: ``n x d`` raw records; at least two of them differ.
            radius: Norm of the record farthest from the mean.
            lengthscale: ``d`` floats > 0 in raw units; None: all 1.
            names: Names of the features.

        Warns:
            PrivacyLeakWarning: Always.
        """
        warnings.warn(
            "the scaling is learned from the records: moving one record moves every released row, "
            "and no guarantee built on it holds; declare ranges with PublicScaling(lower, upper)",
            PrivacyLeakWarning,
            stacklevel=2,
        )
        table = validate.matrix(records=records)
        low, high = table.amin(dim=0), table.amax(dim=0)
        margin = torch.where(low == high, low.abs().clamp(min=1.0), torch.zeros_like(low))
        scaling = cls(low - margin, high + margin, radius=radius, names=names)
        centre = table.mean(dim=0)
        shape = torch.ones_like(centre)
        if lengthscale is not None:
            shape = scaling._checked_lengthscale(lengthscale)
        largest = float(((table - centre) / shape).norm(dim=1).max())
        if largest == 0:
            raise ValueError("records must hold at least two different rows, got equal rows only")
        scaling._adopt(centre, shape, largest)
        scaling._public = False
        return scaling

    @on_cpu_by_default
    def transform(self, records: Any) -> Tensor:
        """Map raw records into the ball.

        Args:
            records: ``n x d`` raw records: tensor, array, or data frame (pandas or polars).

        Returns:
            ``n x d`` float64 tensor of scaled records, each of norm at most `radius`.

        Raises:
            ValueError: If a value is missing or infinite, or 0 or less on a log scale (naming row and
                column), or the width is not ``d``.
        """
        return self.scale_rows(self.check(records))

    def check(self, records: Any, *, minimum_rows: int = 1) -> Tensor:
        """Return a table as a finite ``n x d`` float64 tensor, or refuse it.

        The columns of a data frame (pandas, polars, pyarrow) must carry the names of the features, in
        the same order: another order would be scaled by the ranges of other features.
        """
        table = checked_records(records, self.features, self._names, minimum_rows)
        self.refuse_not_positive(table)
        return table

    def refuse_not_positive(self, table: Tensor) -> None:
        """Refuse a finite ``n x d`` table with a value of 0 or less in a feature on a log scale."""
        for column in self.log_columns:
            wrong = table[:, column] <= 0
            if wrong.any():
                others = int(wrong.sum()) - 1
                more = f" (and {others} more in this column)" if others else ""
                raise ValueError(
                    f"records must be > 0 on a log scale, got 0 or less in row "
                    f"{int(wrong.nonzero()[0])}, {self._name(column)}{more}: correct the record, or "
                    f"declare the feature on a linear scale"
                )

    @on_cpu_by_default
    def scale_rows(self, table: Tensor, order: Tensor | None = None) -> Tensor:
        """Scale a validated ``n x d`` table, in the given order of rows, with no more than a copy."""
        scaled = torch.empty_like(table)
        step = max(1, _CHUNK_ENTRIES // self.features)
        for start in range(0, len(table), step):
            rows = slice(start, start + step)
            scaled[rows] = self.scale_tensor(table[rows if order is None else order[rows]])
        return scaled

    @on_cpu_by_default
    def scale_tensor(self, rows: Tensor) -> Tensor:
        """Clip and scale a finite ``... x d`` float64 tensor; differentiable, not validated."""
        lower, upper = self._lower.to(rows), self._upper.to(rows)
        inside = torch.minimum(torch.maximum(rows, lower), upper)
        return (self._on_scale(inside) - self._centre.to(rows)) / self._unit.to(rows)

    def to_interval(self, rows: Tensor) -> Tensor:
        """Clip a finite ``... x d`` table, and map each range to [-1, 1], on its scale."""
        lower, upper = self._lower.to(rows), self._upper.to(rows)
        inside = self._on_scale(torch.minimum(torch.maximum(rows, lower), upper))
        low, high = self._on_scale(lower), self._on_scale(upper)
        centre, half = low / 2 + high / 2, high / 2 - low / 2
        return ((inside - centre) / half).clamp(-1.0, 1.0)

    @on_cpu_by_default
    def inverse(self, scaled: Any) -> Tensor:
        """Map scaled rows back to raw units; what `transform` clipped stays clipped.

        Args:
            scaled: ``n x d`` scaled rows, such as estimates of records.

        Returns:
            ``n x d`` float64 tensor in raw units, not limited to the declared ranges.
        """
        rows = validate.matrix(scaled=scaled, columns=self.features) * self._unit + self._centre
        if self.log_columns:
            return torch.where(self._log, self._middle * torch.where(self._log, rows, 0.0).exp(), rows)
        return rows

    def clipped(self, records: Any) -> Tensor:
        """Say which records have a value outside its declared range.

        For the curator's eyes only: which rows, and how many, depends on the data.

        Args:
            records: ``n x d`` raw records.

        Returns:
            ``n`` booleans.
        """
        table = self.check(records)
        return ((table < self._lower) | (table > self._upper)).any(dim=1)

    def check_belongs(self, guarantee: PrivacyGuarantee, name: str) -> None:
        """Refuse the guarantee of a release that was not made by these ranges.

        Args:
            guarantee: Of the release.
            name: What to call the release in the message.

        Raises:
            ValueError: If names, number of features, radius or units differ, or either scaling was
                learned from the records.
        """
        if guarantee.unit is None or not self.public:
            raise ValueError(
                f"ranges must be the declared ones of {name}, but its scaling was not declared: it has "
                f"no raw units"
            )
        wanted = f"ranges must be those of {name}"
        if guarantee.names and self.names and self.names != guarantee.names:
            raise ValueError(
                f"{wanted}, with the features {list(guarantee.names)}, got {list(self.names)}"
            )
        if self.features != len(guarantee.unit):
            raise ValueError(f"{wanted}, with {len(guarantee.unit)} features, got {self.features}")
        radius = guarantee.radius
        if radius is not None and not math.isclose(self.radius, radius, rel_tol=_SAME):
            raise ValueError(f"{wanted}, with radius {radius:g}, got {self.radius:g}")
        if self.log_columns != guarantee.log_columns:
            raise ValueError(
                f"{wanted}, where the features on a log scale are columns "
                f"{list(guarantee.log_columns)}, got {list(self.log_columns)}"
            )
        for i, (own, stated) in enumerate(zip(self.unit.tolist(), guarantee.unit, strict=True)):
            if not math.isclose(own, stated, rel_tol=_SAME):
                feature = self.names[i] if self.names else f"feature {i}"
                raise ValueError(
                    f"{wanted}, whose unit is {stated:.6g} of {feature}, got ranges that make it "
                    f"{own:.6g}"
                )

    def __repr__(self) -> str:
        return f"PublicScaling(features={self.features}, radius={self._radius}, public={self.public})"

    def _on_scale(self, rows: Tensor) -> Tensor:
        """Values above 0 on a log scale as their logarithms, around the middle; others as they are."""
        if not self._log.any():
            return rows
        log, middle = self._log.to(rows.device), self._middle.to(rows)
        return torch.where(log, _logarithm(torch.where(log, rows, 1.0) / middle), rows)

    def _checked_scale(self, scale: Sequence[str] | None) -> Tensor:
        """Which features are on a log scale."""
        kinds = ["linear"] * self.features if scale is None else list(scale)
        if isinstance(scale, str) or len(kinds) != self.features:
            raise ValueError(f"scale must have {self.features} entries, one a feature")
        for column, kind in enumerate(kinds):
            if kind not in ("linear", "log"):
                raise ValueError(
                    f"scale must be 'linear' or 'log' for each feature, and so for {self._name(column)}"
                )
            if kind == "log" and not self._lower[column] >= sys.float_info.min:
                raise ValueError(
                    f"lower must be above 0 on a log scale, got {float(self._lower[column])} for "
                    f"{self._name(column)}"
                )
        return torch.tensor([kind == "log" for kind in kinds], device="cpu")

    def _adopt(self, centre: Tensor, shape: Tensor, largest_norm: float) -> None:
        """Put the centre at the origin, and what is `largest_norm` shapes away on the sphere."""
        unit = shape * largest_norm * _ROUNDING_MARGIN / self._radius
        for column in range(self.features):
            if not 0 < unit[column] < math.inf:
                raise ValueError(
                    f"ranges, lengthscale and radius must give a finite unit > 0 in float64, got "
                    f"{float(unit[column])} for {self._name(column)}"
                )
            if self._log[column] and unit[column] < _LEAST_LOG_UNIT:
                raise ValueError(
                    f"scale must be linear for {self._name(column)}: its range or lengthscale is so "
                    f"narrow a factor that one unit would be a factor below {1 + _LEAST_LOG_UNIT:g}"
                )
        self._centre, self._unit = centre, unit

    def _steps_of(self, choices: Mapping[str, Sequence[str]]) -> tuple[Step, ...]:
        linear = self.widths.where(~self._log, torch.nan)
        widths = {
            name: width
            for name, width in zip(self._names or (), linear.tolist(), strict=False)
            if not math.isnan(width)
        }
        found = []
        for name, columns in choices.items():
            if isinstance(columns, str) or not columns:
                raise ValueError(f"choices must name the columns of {name!r} in a sequence")
            moved = [widths.pop(column, None) for column in columns]
            for column, width in zip(columns, moved, strict=True):
                if width is None:
                    raise ValueError(
                        f"choices must be of columns in names, each of one choice, got {column!r} for "
                        f"{name!r}"
                    )
            # A change of category takes one column down and another one up: the two widest, at most.
            found.append(Step(name, tuple(columns), math.hypot(*sorted(filter(None, moved))[-2:])))
        return tuple(found)

    def _checked_lengthscale(self, lengthscale: Any) -> Tensor:
        shape = validate.vector(lengthscale=lengthscale, length=self.features)
        for column in range(self.features):
            if not shape[column] > 0:
                raise ValueError(
                    f"lengthscale must be > 0, got {float(shape[column])} for {self._name(column)}"
                )
            if self._log[column] and not shape[column] > 1:
                raise ValueError(
                    f"lengthscale must be a factor > 1 on a log scale, got {float(shape[column])} for "
                    f"{self._name(column)}"
                )
        return torch.where(self._log, shape.log(), shape)

    def _refuse_other_labels(self, name: str, given: Any) -> None:
        """Refuse a pandas Series that is labelled by other features, or by them in another order."""
        labels = [] if row_labels(given) is None else list(row_labels(given))
        named = any(isinstance(each, str) for each in labels)
        if named and self._names and labels != list(self._names):
            raise ValueError(
                f"{name} must be labelled by names, in their order: entries are taken by position, so "
                f"take {name}.loc[names]"
            )

    def _name(self, column: int) -> str:
        return f"column {column}" + (f" ({self._names[column]})" if self._names else "")


def _logarithm(values: Tensor) -> Tensor:
    """Natural logarithms; of a float64 table each by itself, wherever it stands among the others."""
    if values.requires_grad or values.device.type != "cpu":
        return values.log()
    return torch.from_numpy(np.log(values.contiguous().numpy()))  # PyTorch's differ at the end of a row


def checked_records(
    records: Any, features: int, names: Sequence[str] | None, minimum_rows: int
) -> Tensor:
    """A table as a finite ``n x d`` float64 tensor, with the declared columns in their order."""
    require_columns("records", records, names)
    return validate.matrix(
        records=records, columns=features, minimum_rows=minimum_rows, column_names=names
    )


def _checked_names(names: Sequence[str] | None, features: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence of {features} names, got the text {names!r}")
    if len(names) != features:
        raise ValueError(f"names must have {features} entries, got {len(names)}")
    return tuple(str(name) for name in names)
