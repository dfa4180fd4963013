"""Releases of labels for tests, and how a record's covariance comes about, the slow way."""

import numpy as np
import torch

from botorch_private import Release
from botorch_private.curator.cells.cell_response import CellResponse
from botorch_private.curator.cells.cells import Cells


def label_release(n=60, shape=(3, 2), epsilon=2.0, seed=0):
    """A release of ``n`` labels of records that are uniform over the cells, and the true cells."""
    generator = torch.Generator().manual_seed(seed)
    cells = Cells([list(range(length + 1)) for length in shape])
    mechanism = CellResponse(epsilon, cells)
    true = torch.randint(cells.count, (n,), generator=generator)
    labels = mechanism.apply(true.double().unsqueeze(-1), generator=generator)[:, 0]
    guarantee = mechanism.guarantee(n, len(shape))
    return Release.of_labels(labels, cells.space, guarantee), true


def slow_covariance(release, lengthscales, scatter, frequencies):
    """``n x n`` covariance of the records: by Bayes' rule for each label, and all pairs of cells."""
    law, space = release.guarantee.law, release.cells
    places = space.coordinates(torch.arange(space.count)).numpy()
    gap = places[:, None, :] - places[None, :, :]
    ordered = [space.ordered[part] for part in space.telling]
    gap = np.where(ordered, gap, gap != 0)
    k = np.exp(-((gap / lengthscales) ** 2).sum(axis=-1) / 2)
    told = np.full((space.count, space.count), law.q) + (law.p - law.q) * np.eye(space.count)
    joint = told * frequencies[None, :]  # label, cell
    posterior = joint / joint.sum(axis=1, keepdims=True)
    labels = release.labels.numpy()
    covariance = (posterior @ k @ posterior.T)[np.ix_(labels, labels)]
    covariance[np.diag_indices(len(labels))] = 1 + scatter
    return covariance
