"""Snapshot: the hyperparameters of a model at one time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from gpytorch.likelihoods.noise_models import FixedGaussianNoise
from gpytorch.priors import Prior
from torch import Tensor, nn

_LARGE = 10_000
_PLAIN = (bool, int, float, str, tuple, list, Tensor, type(None))
# caches, data, and what torch and GPyTorch note for themselves
_IGNORED = frozenset({
    "training", "train_inputs", "train_targets", "_train_targets",
    "prediction_strategy", "distance_module",
    "_has_transformed_inputs", "_original_train_inputs",
    "_is_full_backward_hook", "_strict_init", "_load_strict_shapes",
})  # fmt: skip


_DATA = (Prior, FixedGaussianNoise)  # the noise of each observation counts as data


class _State(NamedTuple):
    kind: type
    plain: dict[str, Any]
    tensors: list[Any]


class _Table:
    """A large tensor, by address and version.

    While it is held here, no other tensor can get its address. A copy or a pickle holds nothing, and
    equals nothing.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._held: Tensor | None = tensor.detach()
        self._mark = (tensor.data_ptr(), tensor._version, tensor.shape, tensor.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Table) or self._held is None or other._held is None:
            return False
        return self._mark == other._mark

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"_held": None, "_mark": None}


class Snapshot:
    """Classes, parameters, buffers and plain attributes of a model's modules, by value.

    Values are compared, since GPyTorch sets hyperparameters through ``.data``, which leaves no trace
    in a tensor's version. Tables of more than 10,000 numbers (the records of an input transform) are
    compared by address and version. Outcome transforms and priors of hyperparameters are left out.

    Args:
        model: A model, whose training data do not count.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._modules = list(_relevant(model))
        self._states = [
            _State(type(module), _plain(module), [_kept(tensor) for tensor in _tensors(module)])
            for module in self._modules
        ]

    def holds(self) -> bool:
        """Whether the model is still as it was."""
        modules = list(_relevant(self._model))
        return len(modules) == len(self._modules) and all(
            map(_unchanged, modules, self._modules, self._states)
        )

    def __eq__(self, other: object) -> bool:
        """Whether two models are the same function of their data."""
        if not isinstance(other, Snapshot):
            return NotImplemented
        mine, theirs = self._states, other._states
        return len(mine) == len(theirs) and all(map(_same_state, mine, theirs))

    __hash__ = None  # type: ignore[assignment]


def _relevant(module: nn.Module) -> Iterator[nn.Module]:
    yield module
    for name, child in module._modules.items():
        if child is not None and name != "outcome_transform" and not isinstance(child, _DATA):
            yield from _relevant(child)


def _plain(module: nn.Module) -> dict[str, Any]:
    return {
        name: _kept(value) if isinstance(value, Tensor) else copy.copy(value)
        for name, value in vars(module).items()
        if isinstance(value, _PLAIN) and name not in _IGNORED and not _holds_tensors(value)
    }


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and any(isinstance(part, Tensor) for part in value)


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    for owned in (module._parameters, module._buffers):
        for tensor in owned.values():
            if tensor is not None:
                yield tensor


def _kept(tensor: Tensor) -> Any:
    if tensor.numel() > _LARGE:
        return _Table(tensor)
    return tensor.detach().clone()


def _unchanged(module: nn.Module, before: nn.Module, state: _State) -> bool:
    if module is not before:
        return False
    now = vars(module)
    for name, value in state.plain.items():
        if not _same_plain(now.get(name), value):
            return False
    tensors = list(_tensors(module))
    return len(tensors) == len(state.tensors) and all(map(_same, tensors, state.tensors))


def _same_state(one: _State, other: _State) -> bool:
    return (
        one.kind is other.kind
        and one.plain.keys() == other.plain.keys()
        and all(_same_plain(value, other.plain[name]) for name, value in one.plain.items())
        and len(one.tensors) == len(other.tensors)
        and all(map(_same, one.tensors, other.tensors))
    )


def _same_plain(value: Any, kept: Any) -> bool:
    if isinstance(kept, Tensor):
        return _same(value, kept)
    if isinstance(value, Tensor):
        value = _kept(value)  # of a table: address and version
    return value is kept or (type(value) is type(kept) and value == kept)


def _same(tensor: Any, kept: Any) -> bool:
    if not isinstance(kept, Tensor):
        return kept == (_kept(tensor) if isinstance(tensor, Tensor) else tensor)
    same_kind = isinstance(tensor, Tensor) and tensor.dtype == kept.dtype
    return same_kind and tensor.device == kept.device and torch.equal(tensor, kept)
