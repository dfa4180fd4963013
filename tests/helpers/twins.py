"""The same model twice: on records through the transform, and on released rows without it."""

import warnings

import torch
from botorch import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers.draws import seeded
from torch.testing import assert_close

from botorch_private import (
    NoisyProjection,
    NotDifferentiallyPrivate,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
    SpectralProjection,
)

TRAIN, TEST = torch.arange(9), torch.arange(6, 24)
ROTATION = "rotation into r > d"
MECHANISMS = {
    "no projection": NoisyProjection(8.0),
    ROTATION: NoisyProjection(8.0, projection_dim=5),
    "subspace r < d": NoisyProjection(8.0, delta=1e-5, projection_dim=2),
    "spectral": SpectralProjection(2.0, 1e-5, 4),
}


def exactly(actual, expected):
    assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def same_posterior(one, other):
    exactly(one.mean, other.mean)
    exactly(one.variance, other.variance)


def fitted(model):
    return fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model)).model


def log_likelihood(model):
    model.train()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    return mll(model(*model.train_inputs), model.train_targets)


class Twins:
    """Three features, released as ever many columns, and two outcomes: on records and on rows."""

    def __init__(self, mechanism=ROTATION, transform=None):
        self.scaling = PublicScaling([0.0, -5.0, 100.0], [1.0, 5.0, 300.0])
        uniform = torch.rand(24, 3, generator=seeded(7)).double()
        width = self.scaling.upper - self.scaling.lower
        self.records = (self.scaling.lower + width * uniform).float().double()
        self.transform = transform or self.released(mechanism)
        self.rows = self.transform(self.records)
        first = torch.sin(4 * self.records[:, :1]) + self.records[:, 1:2] / 5
        self.Y = torch.cat([first, self.records[:, 2:] / 100 - first.square()], dim=-1)

    def released(self, mechanism=ROTATION, kind=PrivateProjectionTransform, seed=4):
        """Release the records once more."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotDifferentiallyPrivate)
            return kind(self.records, self.scaling, MECHANISMS[mechanism], generator=seeded(seed))

    def kernel(self):
        return ReleasedInputKernel.of(self.transform.release)

    def gp(self, X, outcomes=(0,), train=TRAIN, **kwargs):
        kernel = kwargs.pop("covar_module", None) or self.kernel()
        return SingleTaskGP(X[train], self.Y[train][..., outcomes], covar_module=kernel, **kwargs)

    def private(self, *args, **kwargs):
        return self.gp(self.records, *args, input_transform=self.transform, **kwargs)

    def plain(self, *args, **kwargs):
        return self.gp(self.rows, *args, **kwargs)

    def both(self, **kwargs):
        return self.private(**kwargs), self.plain(**kwargs)

    def same(self, private, plain, index=TEST):
        same_posterior(private.posterior(self.records[index]), plain.posterior(self.rows[index]))
