"""What BoTorch asserts of its own input transforms and acquisition functions, asserted of ours.

BoTorch's package holds `BotorchTestCase` and its mocks but not its tests, so their properties are
stated here again: of the abstract input transform, of chained and broadcast transforms, of the
upper confidence bound, and of the harness that every analytic acquisition function goes through.
"""

import copy
import itertools
import math

import pytest
import torch
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.exceptions import UnsupportedError
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import (
    BatchBroadcastedInputTransform,
    ChainedInputTransform,
    InputTransform,
    Normalize,
)
from botorch.models.utils import fantasize
from botorch.utils.testing import BotorchTestCase, MockModel, MockPosterior
from gpytorch.kernels import RBFKernel, ScaleKernel

from botorch_private import DiscreteUCB, NoisyProjection, PrivateProjectionTransform, PublicScaling

DTYPES = (torch.float, torch.double)
SHAPES = ((4,), (1, 1), (5, 1), (5, 3, 1), (2, 4))


class TestInputTransformContract(BotorchTestCase):
    """Of BoTorch's tests of its abstract, chained and broadcast input transforms."""

    def setUp(self):
        super().setUp()
        seed = torch.Generator().manual_seed(2)
        self.table = torch.rand(12, 3, generator=seed).double()  # float32 values: exact in both dtypes
        self.scaling = PublicScaling([0.0] * 3, [1.0] * 3)
        self.transform = self.private(4)

    def private(self, width, table=None):
        table = self.table if table is None else table
        seed = torch.Generator().manual_seed(width)
        return PrivateProjectionTransform(
            table, self.scaling, NoisyProjection(8.0, projection_dim=width), generator=seed
        )

    def records(self, shape, dtype=torch.double):
        index = torch.arange(math.prod(shape)).remainder(12).reshape(shape)
        return self.table[index].to(device=self.device, dtype=dtype)

    def test_it_is_a_one_to_one_module_that_transforms_always(self):
        assert isinstance(self.transform, InputTransform)
        assert isinstance(self.transform, torch.nn.Module)
        assert self.transform.training
        assert not self.transform.is_one_to_many
        for flag in ("transform_on_train", "transform_on_eval", "transform_on_fantasize"):
            assert getattr(self.transform, flag) is True

    def test_every_mode_and_entry_gives_the_same_rows(self):
        X = self.records((5, 2))
        expected = self.transform.transform(X)
        for training in (True, False):
            self.transform.train(training)
            assert torch.equal(self.transform(X), expected)
            assert torch.equal(self.transform.preprocess_transform(X), expected)
            assert self.transform.training is training
            with fantasize():
                assert torch.equal(self.transform(X), expected)

    def test_batch_shape_dtype_and_device_stay_and_the_width_is_that_of_the_release(self):
        for dtype, shape in itertools.product(DTYPES, SHAPES):
            with self.subTest(dtype=dtype, shape=shape):
                X = self.records(shape, dtype)
                kept = X.clone()
                rows = self.transform(X)
                assert rows.shape == (*shape, 4)
                assert (rows.dtype, rows.device) == (dtype, X.device)
                assert torch.equal(X, kept)
                one_by_one = [self.transform(row.unsqueeze(0)) for row in X.reshape(-1, 3)]
                assert torch.equal(rows, torch.cat(one_by_one).reshape(rows.shape))

    def test_a_chain_applies_it_in_its_place(self):
        bounds = torch.tensor([[0.0] * 4, [2.0] * 4], dtype=torch.double)
        first = ChainedInputTransform(private=self.transform)
        chain = ChainedInputTransform(private=self.transform, halve=Normalize(4, bounds=bounds))
        for dtype, training in itertools.product(DTYPES, (True, False)):
            X = self.records((5, 2), dtype)
            chain.to(dtype).train(training)
            assert torch.equal(first(X), self.transform(X))
            self.assertAllClose(chain(X), self.transform(X) / 2)
        assert not chain.is_one_to_many
        assert chain.equals(copy.deepcopy(chain))
        assert not first.equals(ChainedInputTransform(private=self.private(4, self.table.flip(0))))
        assert first.equals(ChainedInputTransform(private=self.private(4)))

    def test_two_of_them_are_broadcast_over_a_batch(self):
        other = self.private(4, self.table.flip(0))
        both = BatchBroadcastedInputTransform([self.transform, other], broadcast_index=0)
        X = self.records((2, 5))
        assert torch.equal(both(X), torch.stack([self.transform(X[0]), other(X[1])]))


class TestAcquisitionContract(BotorchTestCase):
    """Of BoTorch's tests of the upper confidence bound, and of its acquisition harness."""

    def points(self, *shape, dtype=torch.double):
        seed = torch.Generator().manual_seed(sum(shape))
        return torch.rand(*shape, generator=seed).to(device=self.device, dtype=dtype)

    def gp(self, dtype=torch.double, known_noise=False):
        X = self.points(5, 2, dtype=dtype)
        noise = torch.full_like(X[:, :1], 0.1) if known_noise else None
        return SingleTaskGP(
            X, X.sum(-1, keepdim=True).sin(), noise, covar_module=ScaleKernel(RBFKernel())
        )

    def candidates(self, dtype=torch.double):
        """Every point that a test scores: nothing else is."""
        shapes = [(9,), (4, 1), (4, 2), (5, 1), (5, 3, 1)]
        return torch.cat([self.points(*shape, 2, dtype=dtype).reshape(-1, 2) for shape in shapes])

    def ucb(self, model, dtype=torch.double, **kwargs):
        return DiscreteUCB(model, self.candidates(dtype), t=1, **kwargs)

    def mock(self, mean, variance, dtype):
        mean, variance = (torch.tensor(x, device=self.device, dtype=dtype) for x in (mean, variance))
        return MockModel(MockPosterior(mean=mean, variance=variance))

    def test_bound_is_mean_plus_root_beta_deviations(self):
        for dtype in DTYPES:
            zero = torch.zeros(1, 1, device=self.device, dtype=dtype)
            model = self.mock([[[0.5]]], [[[4.0]]], dtype)
            for maximize, expected in ((True, 3.5), (False, 2.5)):
                acqf = DiscreteUCB(model, zero, t=1, beta=2.25, maximize=maximize)
                self.assertAllClose(acqf(zero), torch.tensor([expected]).to(zero), atol=1e-6)
                self.assertAllClose(acqf.scores(), torch.tensor([expected]).to(zero), atol=1e-6)

    def test_bounds_of_a_batch(self):
        for dtype in DTYPES:
            model = self.mock([[[0.0]], [[0.5]]], [[[1.0]], [[4.0]]], dtype)
            zeros = torch.zeros(2, 1, 1, device=self.device, dtype=dtype)
            acqf = DiscreteUCB(model, zeros[0], t=1, beta=1.0)
            self.assertAllClose(acqf(zeros), torch.tensor([1.0, 2.5]).to(zeros), atol=1e-6)

    def test_several_outcomes_need_a_posterior_transform(self):
        for dtype in DTYPES:
            model = self.mock([[1.0, 2.0]], [[1.0, 1.0]], dtype)
            zero = torch.zeros(1, 1, device=self.device, dtype=dtype)
            with pytest.raises(UnsupportedError, match="posterior transform"):
                DiscreteUCB(model, zero, t=1)
            weights = ScalarizedPosteriorTransform(torch.ones(2, device=self.device, dtype=dtype))
            assert DiscreteUCB(model, zero, 1, posterior_transform=weights).model is model

    def test_values_have_the_dtype_and_device_of_the_points(self):
        for dtype in DTYPES:
            value = self.ucb(self.gp(dtype), dtype)(self.points(4, 1, 2, dtype=dtype))
            assert (value.dtype, value.device.type) == (dtype, self.device.type)

    def test_values_have_the_batch_shape_of_the_points(self):
        for known_noise, batch in itertools.product((False, True), ((4,), (5,), (5, 3))):
            value = self.ucb(self.gp(known_noise=known_noise))(self.points(*batch, 1, 2))
            assert value.shape == batch

    def test_more_than_one_point_at_a_time_is_an_error(self):
        with pytest.raises(AssertionError, match="q=1"):
            self.ucb(self.gp())(self.points(4, 2, 2))

    def test_maximizing_and_minimizing_differ_and_mirror_each_other(self):
        X, model = self.points(4, 1, 2), self.gp()
        large, small = self.ucb(model, beta=1.0)(X), self.ucb(model, beta=1.0, maximize=False)(X)
        assert not torch.allclose(large, small)
        deviation = model.posterior(X).variance.sqrt().reshape(4)
        self.assertAllClose(large + small, 2 * deviation)

    def test_pending_points_are_set_and_cleared(self):
        X, pending = self.points(4, 1, 2), self.points(3, 2)
        for known_noise in (False, True):
            acqf = self.ucb(self.gp(known_noise=known_noise))
            assert acqf.X_pending is None
            free = acqf(X)
            acqf.set_X_pending(pending)
            assert torch.equal(acqf.X_pending, pending)
            assert (acqf(X) < free).all()
            acqf.set_X_pending()
            assert acqf.X_pending is None
            assert torch.equal(acqf(X), free)

    def test_a_copy_gives_the_same_values_and_keeps_its_own_pending_points(self):
        X = self.points(4, 1, 2)
        acqf = self.ucb(self.gp())
        acqf.set_X_pending(self.points(3, 2))
        twin = copy.deepcopy(acqf)
        self.assertAllClose(twin(X), acqf(X))
        acqf.set_X_pending(None)
        assert (twin(X) < acqf(X)).all()

    def test_a_state_dict_carries_the_model_and_values_do_not_depend_on_the_mode(self):
        X, donor, heir = self.points(4, 1, 2), self.gp(), self.gp()
        donor.covar_module.outputscale = 3.0
        assert not torch.allclose(self.ucb(donor)(X), self.ucb(heir)(X))
        target = self.ucb(heir)
        target.load_state_dict(self.ucb(donor).state_dict())
        self.assertAllClose(target(X), self.ucb(donor)(X))
        self.assertAllClose(target.train()(X), target.eval()(X))
