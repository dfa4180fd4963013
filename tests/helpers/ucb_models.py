"""Models for tests of acquisition functions, on the first rows of some candidates."""

import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from helpers.draws import seeded, uniform

from botorch_private import (
    NoisyProjection,
    PrivateProjectionTransform,
    PublicScaling,
    ReleasedInputKernel,
)

X = uniform(40, 3)
Y = torch.cat([torch.sin(5 * X[:, :1]) + X[:, 1:2], X[:, 2:].square() - X[:, :1]], dim=-1)
ASKED = [0, 1, 2, 3, 4, 5, 6]


def kernel():
    return ScaleKernel(RBFKernel())


def single():
    return SingleTaskGP(X[ASKED], Y[ASKED, :1], covar_module=kernel())


def fixed_noise():
    noise = 0.01 + 0.1 * uniform(len(ASKED), 1, seed=3)
    return SingleTaskGP(X[ASKED], Y[ASKED, :1], noise, covar_module=kernel())


def private():
    scaling = PublicScaling([0.0] * 3, [1.0] * 3)
    mechanism = NoisyProjection(8.0, projection_dim=5)
    transform = PrivateProjectionTransform(X, scaling, mechanism, generator=seeded(1))
    return SingleTaskGP(
        X[ASKED],
        Y[ASKED, :1],
        input_transform=transform,
        covar_module=ReleasedInputKernel.of(transform.release),
    )
