"""Snapshot: the hyperparameters of a model at one time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from gpytorch.likelihoods.noise_models import FixedGaussianNoise
from gpytorch.priors import Prior
from torch import Tensor, nn

_LARGE = 10_000
_NO_FUNCTION = (Prior, FixedGaussianNoise)  # the noise of each observation counts as data
_PLAIN = (bool, int, float, str, tuple, list, Tensor)
_DATA = frozenset({
    "training", "train_inputs", "_train_targets", "_has_transformed_inputs", "_original_train_inputs"
})  # fmt: skip


class Snapshot:
    """Types of a model's modules, and their parameters and buffers by value.

    Values are compared, since GPyTorch sets hyperparameters through ``.data``, which leaves no trace
    in a tensor's version. Tables of more than 10,000 numbers (the records of an input transform) are
    compared by address and version. Outcome transforms and priors of hyperparameters are left out.

    `holds` does not look at plain attributes, such as the ``nu`` of a `MaternKernel`. Two snapshots
    differ where these do, so `DiscretePosterior.update` notices them.

    Args:
        model: A model, whose training data do not count.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        modules = list(_relevant(model))
        self._kinds = [type(module) for module in modules]
        self._values = [each.clone() if isinstance(each, Tensor) else each for each in _values(modules)]
        self._plain = [_plain(module) for module in modules]

    def holds(self) -> bool:
        """Whether modules, parameters and buffers of the model are still as they were."""
        modules = list(_relevant(self._model))
        return self._kinds == [type(module) for module in modules] and _equal(
            self._values, list(_values(modules))
        )

    def __eq__(self, other: object) -> bool:
        """Whether two models are the same function of their data."""
        if not isinstance(other, Snapshot):
            return NotImplemented
        same = self._kinds == other._kinds and self._plain == other._plain
        return same and _equal(self._values, other._values)

    __hash__ = None  # type: ignore[assignment]


class _Table:
    """A large tensor, by address and version.

    While it is held here, no other tensor can get its address. A copy or a pickle holds nothing, and
    equals nothing.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._held: Tensor | None = tensor
        version = 0 if tensor.is_inference() else tensor._version  # of such tensors there is none
        self._mark = (tensor.data_ptr(), version, tensor.shape, tensor.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Table) or self._held is None or other._held is None:
            return False
        return self._mark == other._mark

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"_held": None, "_mark": None}


def _relevant(module: nn.Module) -> Iterator[nn.Module]:
    yield module
    for name, child in module._modules.items():
        if child is not None and name != "outcome_transform" and not isinstance(child, _NO_FUNCTION):
            yield from _relevant(child)


def _values(modules: list[nn.Module]) -> Iterator[Tensor | _Table]:
    for module in modules:
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None:
                tensor = tensor.detach()
                yield _Table(tensor) if tensor.numel() > _LARGE else tensor


def _plain(module: nn.Module) -> dict[str, str]:
    """Plain attributes as text, which no later change reaches."""
    return {
        name: repr(value.tolist() if isinstance(value, Tensor) else value)
        for name, value in vars(module).items()
        if isinstance(value, _PLAIN) and name not in _DATA
    }


def _equal(one: list[Tensor | _Table], other: list[Tensor | _Table]) -> bool:
    return len(one) == len(other) and all(map(_same, one, other))


def _same(one: Tensor | _Table, other: Tensor | _Table) -> bool:
    if isinstance(one, _Table) or isinstance(other, _Table):
        return isinstance(one, _Table) and one == other
    same_kind = one.dtype == other.dtype and one.device == other.device
    return same_kind and torch.equal(one, other)
