"""Log marginal likelihood of a GP with a `LabelKernel`, with its gradient, in NumPy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from botorch_private.modeler.models.label_kernel import MANY_IN_A_PART, LabelKernel, circle_length
from botorch_private.modeler.models.marginal_likelihood import Array, density_of


class LabelEvaluation(NamedTuple):
    """As `marginal_likelihood.Evaluation`, with a derivative by the logarithm of the scatter."""

    value: float
    mean: float
    lengthscale: Array
    outputscale: Array
    scatter: Array
    noise: Array


class LabelLikelihood:
    """Log marginal likelihood, Rasmussen & Williams (2006), equation 5.8, for labelled rows.

    An evaluation costs O(t^3), and O(K log K) for the averages over cells, of which no ``K x K`` matrix
    is ever made.

    Args:
        kernel: What is known of the labels; its hyperparameters are not looked at.
        rows: ``t x 2`` observed rows: labels, and numbers of rows.
        y: Outcomes, ``t`` numbers.
        known_noise: Variances beside those of an evaluation: one number, or one for each observation.
        mean: Prior mean. None: at each evaluation the best one.
    """

    def __init__(
        self,
        kernel: LabelKernel,
        rows: Array,
        y: Array,
        *,
        known_noise: float | Array = 0.0,
        mean: float | None = None,
    ) -> None:
        space = kernel.space
        self._shape = space.shape
        self._parts = [(part, space.shape[part], space.ordered[part]) for part in space.telling]
        self._frequencies = kernel.frequencies.double().numpy()
        self._labels = rows[:, 0].astype(np.int64)
        self._trust = kernel.trust.double().numpy()[self._labels]
        places = kernel.places.numpy()[self._labels]
        gaps = places[:, None, :] - places[None, :, :]
        unordered = [not ordered for _, _, ordered in self._parts]
        gaps[..., unordered] = gaps[..., unordered] != 0
        self._squared = np.ascontiguousarray(np.moveaxis(gaps**2, -1, 0))
        self._same = np.flatnonzero((rows[:, None, :] == rows[None, :, :]).all(axis=-1))
        self._known_noise = known_noise
        self._known_mean = mean is not None
        self._origin = float(y.mean()) if mean is None else mean
        self._right_sides = np.ones((len(y), 2), order="F")
        self._right_sides[:, 0] = y - self._origin

    def __call__(
        self, lengthscale: Array, outputscale: Array, scatter: Array, noise: Array
    ) -> LabelEvaluation:
        """Evaluate; see `LabelKernel` for what the arguments are, and `MarginalLikelihood`."""
        t, s = len(self._labels), outputscale[0]
        near = np.exp(-np.tensordot(1 / (2 * lengthscale**2), self._squared, axes=1))
        shared = self._mixed(near, self._averages(lengthscale, None))
        covariance = s * shared
        entries = covariance.reshape(-1)  # a view
        entries[self._same] = s * (1 + scatter[0])
        entries[:: t + 1] += noise + self._known_noise
        density = density_of(covariance, self._right_sides, s, known_mean=self._known_mean)
        if density is None:
            nothing = np.zeros(1)
            lowest = -math.inf
            none = np.zeros_like(lengthscale)
            return LabelEvaluation(lowest, self._origin, none, nothing, nothing, nothing)
        value, mean, fit, weights = density
        by_noise = float((noise * weights.diagonal()).sum())
        by_known = float((self._known_noise * weights.diagonal()).sum())
        by_scatter = float(weights.reshape(-1)[self._same].sum()) * s * scatter[0]
        weights.reshape(-1)[self._same] = 0.0
        by_lengthscale = np.empty_like(lengthscale)
        for place, squared in enumerate(self._squared):
            slope = near * squared / lengthscale[place] ** 2
            moved = self._mixed(slope, self._averages(lengthscale, place))
            by_lengthscale[place] = s * float((weights * moved).sum())
        return LabelEvaluation(
            value,
            self._origin + mean,
            lengthscale=by_lengthscale / 2,
            outputscale=np.array([fit - t - by_noise - by_known]) / 2,
            scatter=np.array([by_scatter]) / 2,
            noise=np.array([by_noise]) / 2,
        )

    def _mixed(self, near: Array, averages: tuple[Array, float]) -> Array:
        """``G`` of the observed rows; it is linear in ``k``, so that its derivatives are as well."""
        weight, total = averages
        v, w = self._trust, 1 - self._trust
        cross = np.multiply.outer(w, v * weight[self._labels])
        return total * np.multiply.outer(w, w) + cross + cross.T + np.multiply.outer(v, v) * near

    def _averages(self, lengthscale: Array, by: int | None) -> tuple[Array, float]:
        """``k f`` and ``f'k f``, or their derivatives by the logarithm of one length-scale."""
        spread = self._frequencies.reshape(self._shape)
        for place, (part, length, ordered) in enumerate(self._parts):
            moved = np.moveaxis(spread, part, 0)
            flat = moved.reshape(length, -1)
            summed = _along(flat, ordered, lengthscale[place], slope=by == place)
            spread = np.moveaxis(summed.reshape(moved.shape), 0, part)
        weight = spread.reshape(-1)
        return weight, float(weight @ self._frequencies)


def _along(spread: Array, ordered: bool, lengthscale: float, *, slope: bool) -> Array:
    """``k`` of one part, or its slope, times what is in the cells, ``length x ...``."""
    length = len(spread)
    gap = np.arange(length) / (length - 1) if ordered else np.minimum(np.arange(length), 1)
    squared = (gap / lengthscale) ** 2
    decay = np.exp(-squared / 2) * (squared if slope else 1.0)
    if not ordered:
        return decay[1] * spread.sum(axis=0) + (decay[0] - decay[1]) * spread
    if length >= MANY_IN_A_PART:
        size = circle_length(length)
        circle = np.concatenate([decay, np.zeros(size - 2 * length + 1), decay[:0:-1]])
        product = np.fft.rfft(spread, n=size, axis=0) * np.fft.rfft(circle)[:, None]
        return np.fft.irfft(product, n=size, axis=0)[:length]
    place = np.arange(length)
    return decay[np.abs(place[:, None] - place)] @ spread
