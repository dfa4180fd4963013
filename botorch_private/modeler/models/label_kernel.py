"""LabelKernel: covariance of records of which a label is known that may be a lie."""

from __future__ import annotations

import math
from typing import Any

import torch
from gpytorch.constraints import GreaterThan, Positive
from gpytorch.kernels import Kernel
from gpytorch.priors import LogNormalPrior, Prior
from scipy.fft import next_fast_len
from torch import Tensor

from botorch_private.exchange.cell_space import CellSpace
from botorch_private.exchange.release import Release
from botorch_private.modeler.models.label_frequencies import cell_frequencies
from botorch_private.privacy.response_law import ResponseLaw

_TYPICAL, _LOOSENESS = 0.5, 0.75  # median of a length-scale, where all cells of a part span 1
_SCATTER, _SCATTER_LOOSENESS = 0.3, 1.0
_LEAST = 1e-4
MANY_IN_A_PART = 128
"""Cells of an ordered part from which on its covariances are convolved by FFT."""


class LabelKernel(Kernel):
    r"""Covariance of records in cells, given only labels that were told by randomized response.

    What a record gives is taken to be ``g(c) + h``: ``g`` a Gaussian process over cells ``c`` with the
    kernel ``k``, an RBF of their places in each part of the grid (in an unordered part 1 for the same
    and one number for all others), and ``h`` what records of one cell differ by, with variance
    ``scatter``. A label ``z`` is no cell: given ``z``, the record is in ``z`` with probability
    ``v_z``, and else in any cell with its frequency ``f_c``, where ``v_z = (p - q) f_z / (q + (p - q)
    f_z)``. So two different records have the covariance ``G[z, z'] = E k(c, c')``,

    ``G[z, z'] = w_z w_z' f'k f + w_z v_z' (k f)_z' + v_z w_z' (k f)_z + v_z v_z' k(z, z')``, ``w = 1 -
    v``,

    and a record with itself ``1 + scatter``: what exceeds ``G[z, z]`` is its own, and says nothing of
    others. It has no output scale; wrap it in a ``ScaleKernel`` to learn one.

    Rows are ``(label, number of the row)``: equal labels are not the same record, equal rows are.

    Args:
        space: How cells lie to each other; ``release.cells``.
        law: How labels were told; ``release.guarantee.law``.
        frequencies: Share of the records in each cell, ``K`` numbers; `cell_frequencies` judges them.
        lengthscale_prior: Prior of the length-scales, one for each part of ``space.telling``, where all
            cells of a part span 1. None: ``log l ~ N(log 0.5, 0.75^2)``.
        **kwargs: As for `gpytorch.kernels.Kernel`.

    Example:
        >>> cells = Cells([[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]])
        >>> told = Curator(records, cells, CellResponse(3.0, cells), outcomes).release
        >>> kernel = LabelKernel.of(told)
        >>> kernel(told.candidates).shape
        torch.Size([60, 60])
    """

    has_lengthscale = True
    frequencies: Tensor
    trust: Tensor
    places: Tensor

    def __init__(
        self,
        space: CellSpace,
        law: ResponseLaw,
        frequencies: Tensor,
        lengthscale_prior: Prior | None = None,
        **kwargs: Any,
    ) -> None:
        if lengthscale_prior is None:
            lengthscale_prior = LogNormalPrior(loc=math.log(_TYPICAL), scale=_LOOSENESS)
        super().__init__(
            ard_num_dims=len(space.telling),
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=GreaterThan(_LEAST),
            **kwargs,
        )
        self.ard_num_dims = None  # GPyTorch compares it with the width of rows, which is not the grid's
        self.space = space
        excess = (law.p - law.q) * frequencies
        self.register_buffer("frequencies", frequencies)
        self.register_buffer("trust", excess / (law.q + excess))  # v
        self.register_buffer("places", space.coordinates(torch.arange(space.count)))
        self.register_parameter("raw_scatter", torch.nn.Parameter(torch.zeros(1)))
        self.register_constraint("raw_scatter", Positive())
        self.register_prior(
            "scatter_prior",
            LogNormalPrior(loc=math.log(_SCATTER), scale=_SCATTER_LOOSENESS),
            self._scatter_param,
            self._scatter_closure,
        )
        self.lengthscale = torch.tensor(_TYPICAL)
        self.scatter = torch.tensor(_SCATTER)

    @classmethod
    def of(cls, release: Release) -> LabelKernel:
        """Kernel for the rows of a release of labels, with frequencies judged from them.

        Args:
            release: Of a `CellResponse`.

        Raises:
            ValueError: If another mechanism made it.
        """
        law, space = release.guarantee.law, release.cells
        if not isinstance(law, ResponseLaw) or space is None:
            raise ValueError("release must hold labels of cells, as CellResponse makes it")
        return cls(space, law, cell_frequencies(release.label_counts, law.p, law.q))

    @property
    def scatter(self) -> Tensor:
        """Variance within a cell, as a share of that of ``g``: one number."""
        return self._scatter_param(self)

    @scatter.setter
    def scatter(self, value: Tensor | float) -> None:
        self._scatter_closure(self, value)

    # As GPyTorch's own kernels do for their length-scales: bound, and given the module all the same.

    def _scatter_param(self, module: LabelKernel) -> Tensor:
        raw: Any = module.raw_scatter
        constraint: Any = module.raw_scatter_constraint
        return constraint.transform(raw)

    def _scatter_closure(self, module: LabelKernel, value: Any) -> None:
        raw: Any = module.raw_scatter
        constraint: Any = module.raw_scatter_constraint
        value = torch.as_tensor(value).to(raw).reshape(1)
        module.initialize(raw_scatter=constraint.inverse_transform(value))

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Covariance matrix, ``... x n x m``, or its diagonal; see `shared` for that of neighbours."""
        one, other = (labels_of(x, self.space.count) for x in (x1, x2))
        if not diag:
            one, other = one.unsqueeze(-1), other.unsqueeze(-2)
            same = (x1.unsqueeze(-2) == x2.unsqueeze(-3)).all(dim=-1)
        else:
            same = (x1 == x2).all(dim=-1)
        shared = self.shared(one, other)
        return torch.where(same, 1 + self.scatter.to(shared), shared).to(x1)

    def shared(self, one: Tensor, other: Tensor) -> Tensor:
        """``G`` of labels, broadcast against each other."""
        weight, total = self.averages()
        v, v_other = self.trust[one], self.trust[other]
        near = self._between(self.places[one], self.places[other])
        return (
            (1 - v) * (1 - v_other) * total
            + (1 - v) * v_other * weight[other]
            + v * (1 - v_other) * weight[one]
            + v * v_other * near
        )

    def own_variance(self, x: Tensor) -> Tensor:
        """What no other record shares of the variance of ``n x 2`` rows, ``n`` numbers."""
        label = x[..., 0].long()
        return (1 + self.scatter.to(x) - self.shared(label, label)).to(x)

    def averages(self) -> tuple[Tensor, Tensor]:
        """``k f`` for each cell, and ``f'k f``, one part of the grid after the other."""
        spread = self.frequencies.reshape(self.space.shape)
        for column, part in enumerate(self.space.telling):
            lengthscale = self.lengthscale[..., column].reshape(()).to(spread)
            spread = _along(spread, part, self.space.ordered[part], lengthscale)
        weight = spread.reshape(-1)
        return weight, weight @ self.frequencies

    def _between(self, x: Tensor, y: Tensor) -> Tensor:
        """``k`` of places, broadcast against each other."""
        lengthscale = self.lengthscale.reshape(-1).to(x)
        gap = x - y
        unordered = [not self.space.ordered[part] for part in self.space.telling]
        if any(unordered):
            gap = torch.where(torch.tensor(unordered, device=gap.device), (gap != 0).to(gap), gap)
        return torch.exp(-(gap / lengthscale).square().sum(dim=-1) / 2)


def circle_length(length: int) -> int:
    """Length of the circle in which a part of so many cells is convolved without meeting itself."""
    size: Any = next_fast_len(2 * length - 1, real=True)
    return int(size)


def labels_of(rows: Tensor, count: int) -> Tensor:
    """Labels of ``... x 2`` released rows, int64.

    Raises:
        ValueError: If they are no rows of labels: records, say, or points that an optimizer moved.
    """
    told = rows.detach()[..., 0]
    labels = told.long()
    known = (labels == told) & (labels >= 0) & (labels < count)
    if rows.shape[-1] != 2 or not known.all():
        raise ValueError(
            f"X must hold rows of release.candidates, a label in 0..{count - 1} and the number of the "
            f"row: there are no points between them"
        )
    return labels


def _along(spread: Tensor, part: int, ordered: bool, lengthscale: Tensor) -> Tensor:
    """Sum of ``k(., c)`` times what is in ``c``, along one part."""
    length = spread.shape[part]
    moved = spread.movedim(part, -1)
    if not ordered:
        other = torch.exp(-lengthscale.square().reciprocal() / 2)
        summed = other * moved.sum(dim=-1, keepdim=True) + (1 - other) * moved
        return summed.movedim(-1, part)
    gap = torch.arange(length, dtype=spread.dtype, device=spread.device) / (length - 1)
    decay = torch.exp(-(gap / lengthscale).square() / 2)
    if length < MANY_IN_A_PART:
        place = torch.arange(length, device=spread.device)
        return (moved @ decay[(place.unsqueeze(-1) - place).abs()]).movedim(-1, part)
    size = circle_length(length)
    circle = torch.cat([decay, decay.new_zeros(size - 2 * length + 1), decay[1:].flip(0)])
    product = torch.fft.rfft(moved, n=size) * torch.fft.rfft(circle)
    return torch.fft.irfft(product, n=size)[..., :length].movedim(-1, part)
