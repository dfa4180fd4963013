"""Which models say something about columns, whose numbers are lost when rows are released."""

from __future__ import annotations

from gpytorch.kernels import Kernel
from torch import nn

_NOISE = "a released column is never equal to a category, a fidelity or a task, since it carries noise"
_MIXED = "released columns are mixtures of all features here, and the model would take each for one"
_REMEDY = (
    "use a SingleTaskGP with a ReleasedInputKernel, a model for each category or task in a ModelListGP, "
    "or, for kernels of some columns, a release with projection_dim=None"
)
# By name, so that no version of BoTorch or GPyTorch must have them all; subclasses count.
_NEEDS_EXACT_VALUES = frozenset({
    "CategoricalKernel", "DownsamplingKernel", "ExponentialDecayKernel", "HammingIMQKernel",
    "LinearTruncatedFidelityKernel", "MixedSingleTaskGP", "MultiTaskGP", "SaasFullyBayesianMultiTaskGP",
    "SingleTaskMultiFidelityGP",
})  # fmt: skip
_NEEDS_COLUMNS = frozenset({
    "AdditiveStructureKernel", "NewtonGirardAdditiveKernel", "OrthogonalAdditiveKernel",
    "ProductStructureKernel", "SaasFullyBayesianSingleTaskGP",
})  # fmt: skip


def refuse_models_of_columns(model: nn.Module, isotropic: bool) -> None:
    """Refuse a model, or a part of one, that would read released rows by columns of the records.

    Args:
        model: A model, or its kernel.
        isotropic: Whether released columns are mixtures of features.

    Raises:
        ValueError: If it compares columns with exact values, as kernels of categories and fidelities
            do; or if it picks columns out that are mixtures (``active_dims``, sums over columns, a
            sparse set of columns).
    """
    for part in model.modules():
        kinds = {kind.__name__ for kind in type(part).__mro__}
        if kinds & _NEEDS_EXACT_VALUES:
            raise ValueError(_refusal(part, _NOISE))
        picks = isinstance(part, Kernel) and part.active_dims is not None
        if isotropic and (picks or kinds & _NEEDS_COLUMNS):
            raise ValueError(_refusal(part, f"{'with active_dims, ' if picks else ''}{_MIXED}"))


def _refusal(part: nn.Module, why: str) -> str:
    return f"{type(part).__name__} cannot be used on released rows: {why}; {_REMEDY}"
