"""The same model twice: on records through the transform, and on released rows without it."""

import torch
from botorch.models import SingleTaskGP
from torch.testing import assert_close

from botorch_private import (
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
)

TRAIN, TEST = torch.arange(9), torch.arange(6, 24)


class Twins:
    """Three features released as five columns, and two outcomes: on records and on released rows."""

    def __init__(self, transform=None):
        self.scaling = PublicScaling([0.0, -5.0, 100.0], [1.0, 5.0, 300.0])
        uniform = torch.rand(24, 3, generator=torch.Generator().manual_seed(7)).double()
        width = self.scaling.upper - self.scaling.lower
        self.records = (self.scaling.lower + width * uniform).float().double()
        self.transform = transform or PrivateProjectionTransform(
            self.records,
            self.scaling,
            NoisyProjection(8.0, projection_dim=5),
            generator=torch.Generator().manual_seed(4),
        )
        self.rows = self.transform(self.records)
        first = torch.sin(4 * self.records[:, :1]) + self.records[:, 1:2] / 5
        self.Y = torch.cat([first, self.records[:, 2:] / 100 - first.square()], dim=-1)

    def kernel(self):
        return ReleasedInputKernel.of(self.transform.release)

    def private(self, outcome=0, train=TRAIN, **kwargs):
        X, Y = self.records[train], self.Y[train][..., outcome : outcome + 1]
        kernel = kwargs.pop("covar_module", None) or self.kernel()
        return SingleTaskGP(X, Y, input_transform=self.transform, covar_module=kernel, **kwargs)

    def plain(self, outcome=0, train=TRAIN, **kwargs):
        X, Y = self.rows[train], self.Y[train][..., outcome : outcome + 1]
        return SingleTaskGP(
            X, Y, covar_module=kwargs.pop("covar_module", None) or self.kernel(), **kwargs
        )

    def same(self, private, plain, index=TEST):
        one, other = private.posterior(self.records[index]), plain.posterior(self.rows[index])
        assert_close(one.mean, other.mean, rtol=1e-9, atol=1e-9)
        assert_close(one.variance, other.variance, rtol=1e-9, atol=1e-9)
