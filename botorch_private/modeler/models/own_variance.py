"""own_variance: what of a record's variance says nothing of other records."""

from __future__ import annotations

from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from torch import Tensor

from botorch_private.modeler.models.exactness import is_plain, kernel_parts
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.label_kernel import LabelKernel


def own_variance(model: Any, Z: Tensor) -> Tensor | None:
    """Prior variance of each row's own part, in the model's units.

    The process of a noise-aware kernel is a sum: a smooth part that neighbours share, and a part of each
    record alone, independent of all else. So an unmeasured row has the posterior variance of its smooth
    part plus this number, whatever was measured. What a measurement can teach of other rows is in the
    first alone.

    Args:
        model: Any model.
        Z: ``n x r`` rows as its kernel takes them.

    Returns:
        ``n`` numbers; None where no part is known to be a record's own: other kernels, and outcome
        transforms after which variances do not add up.
    """
    if getattr(type(model), "forward", None) is not SingleTaskGP.forward:
        return None
    if type(getattr(model, "outcome_transform", None)) not in (type(None), Standardize):
        return None
    *scale, kernel = kernel_parts(model.covar_module)
    if type(kernel) not in (ReleasedInputKernel, LabelKernel) or not is_plain(model.covar_module):
        return None
    with torch.no_grad():
        own = kernel.own_variance(Z)
        return own * scale[0].outputscale.to(own) if scale else own
