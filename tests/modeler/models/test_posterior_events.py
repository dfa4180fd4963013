"""DiscretePosterior after any sequence of events, against the dense formula."""

import copy

import numpy as np
import pytest
import torch
from gpytorch.kernels import ScaleKernel
from helpers.dense_gp import (
    KERNELS,
    ROWS,
    N,
    array,
    assert_moments,
    column,
    dense,
    gp,
    noise_of,
    set_hyperparameters,
    small_pieces,
    to_model_units,
    to_outcome_units,
)
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from botorch_private import DiscretePosterior

indices = st.integers(0, N - 1)
values = st.floats(-3, 3)


class Told:
    """What one DiscretePosterior was told: the dense twin of its book-keeping."""

    def __init__(self, model, trained):
        self.model = model
        self.start(trained)

    def start(self, trained):
        self.rows = list(trained)
        self.later = []  # value in outcome units, or None; target in the model's units, or None
        self.corrected = {}

    def fork(self):
        twin = copy.copy(self)
        twin.rows, twin.later, twin.corrected = list(self.rows), list(self.later), dict(self.corrected)
        return twin

    def add(self, index, value=None, target=None):
        self.rows.append(index)
        self.later.append((value, target))

    def moments(self):
        """Mean and variance in the model's units."""
        transform = self.model.outcome_transform
        targets = list(array(self.model.train_targets))
        for value, target in self.later:
            targets.append(to_model_units(transform, value) if target is None else target)
        for place, value in self.corrected.items():
            targets[place] = to_model_units(transform, value)
        noise = noise_of(self.model, len(targets))
        return dense(self.model, ROWS, ROWS[self.rows], np.array(targets), noise)

    def expected(self):
        return to_outcome_units(self.model.outcome_transform, *self.moments())

    def values(self):
        """Outcomes of all observations."""
        transform = self.model.outcome_transform
        out = [float(y) for y in array(self.model.train_targets) * float(transform.stdvs)]
        out = [y + float(transform.means) for y in out]
        for value, target in self.later:
            undone = None if target is None else float(transform.means) + float(transform.stdvs) * target
            out.append(value if undone is None else undone)
        for place, value in self.corrected.items():
            out[place] = value
        return out


class AnyEvents(RuleBasedStateMachine):
    """Posteriors and copies of them, appended to, corrected, updated, and refitted in turns."""

    @initialize(
        kernel=st.sampled_from(["RBF", "Matern 2.5", "released", "rational quadratic"]),
        block=st.sampled_from([9, 40]),
        kept=st.sampled_from([None, None, 1, 9 * 8 * 8]),
    )
    def build(self, kernel, block, kept):
        self.patch = pytest.MonkeyPatch()
        small_pieces(self.patch, block=block)
        self.kernel = lambda: ScaleKernel(KERNELS[kernel]())
        model = gp([0, 1, 2], kernel=self.kernel)
        self.posteriors = [(DiscretePosterior(model, ROWS, max_memory=kept), Told(model, [0, 1, 2]))]

    def teardown(self):
        if hasattr(self, "patch"):
            for posterior, told in self.posteriors:
                assert posterior.num_observations == len(told.rows)
                assert_moments(posterior, told.expected())
            self.patch.undo()

    @property
    def active(self):
        return self.posteriors[-1]

    @rule(index=indices, value=values)
    def append(self, index, value):
        posterior, told = self.active
        posterior.append(index, value)
        told.add(index, value)

    @rule(index=indices, value=values)
    def correct(self, index, value):
        posterior, told = self.active
        places = [i for i, row in enumerate(told.rows) if ROWS[row].equal(ROWS[index])]
        if len(places) == 1:
            posterior.correct(index, value)
            told.corrected[places[0]] = value
        else:
            with pytest.raises(ValueError, match=f"which was observed {len(places)} times"):
                posterior.correct(index, value)

    @rule()
    def read(self):
        posterior, told = self.active
        assert_moments(posterior, told.expected())

    @rule(place=st.integers(0, 10))
    def go_on_with_another_copy(self, place):
        self.posteriors.append(self.posteriors.pop(place % len(self.posteriors)))

    @precondition(lambda self: len(self.posteriors) < 5)
    @rule(chosen=st.lists(indices, max_size=3))
    def hallucinate(self, chosen):
        posterior, told = self.active
        mean, _ = told.moments()
        twin, twin_told = posterior.hallucinate(chosen), told.fork()
        for index in chosen:
            twin_told.add(index, target=mean[index])
        self.posteriors.append((twin, twin_told))

    @precondition(lambda self: len(self.posteriors) < 5)
    @rule(chosen=st.lists(st.tuples(indices, values), min_size=1, max_size=3))
    def condition(self, chosen):
        posterior, told = self.active
        rows, outcomes = zip(*chosen, strict=True)
        twin = posterior.condition_on_observations(ROWS[list(rows)], column(*outcomes))
        twin_told = told.fork()
        for index, value in chosen:
            twin_told.add(index, value)
        self.posteriors.append((twin, twin_told))

    @rule(lengthscale=st.floats(0.3, 2))
    def refit_by_setters(self, lengthscale):
        _, told = self.active
        set_hyperparameters(told.model, lengthscale=lengthscale, outputscale=2 * lengthscale)

    @rule(raw=st.floats(-1, 1))
    def refit_by_data(self, raw):
        _, told = self.active
        told.model.covar_module.base_kernel.raw_lengthscale.data.fill_(raw)
        told.model.mean_module.raw_constant.data.fill_(raw)

    @rule(center=values, scale=st.floats(0.5, 3))
    def standardize_again(self, center, scale):
        _, told = self.active
        told.model.outcome_transform.means.fill_(center)
        told.model.outcome_transform.stdvs.fill_(scale)
        told.model.outcome_transform._stdvs_sq.fill_(scale**2)

    @rule(index=indices, value=values)
    def update_with_one_more(self, index, value):
        _, told = self.active
        self.update([*told.rows, index], [*told.values(), value])

    @rule(share=st.floats(0, 1))
    def update_with_fewer(self, share):
        _, told = self.active
        t = max(1, int(share * len(told.rows)))
        self.update(told.rows[:t], told.values()[:t])

    @rule(random=st.randoms(use_true_random=False))
    def update_with_another_order(self, random):
        _, told = self.active
        pairs = list(zip(told.rows, told.values(), strict=True))
        random.shuffle(pairs)
        self.update(*map(list, zip(*pairs, strict=True)))

    def update(self, rows, outcomes):
        posterior, told = self.posteriors.pop()
        model = gp(rows, outcomes, kernel=self.kernel)
        for mine, theirs in zip(model.parameters(), told.model.parameters(), strict=True):
            mine.data.copy_(theirs)
        posterior.update(model)
        self.posteriors.append((posterior, Told(model, rows)))

    @rule(chosen=st.lists(st.tuples(indices, values), min_size=1, max_size=5))
    def set_train_data(self, chosen):
        _, active = self.active
        rows, targets = zip(*chosen, strict=True)
        active.model.set_train_data(
            ROWS[list(rows)], torch.tensor(targets, dtype=torch.float64), strict=False
        )
        for posterior, told in self.posteriors:
            posterior.variance  # noqa: B018 - the new data are noticed at an access
            if told.model is active.model:
                told.start(rows)


AnyEvents.TestCase.settings = settings(
    derandomize=True, max_examples=40, stateful_step_count=30, deadline=None, report_multiple_bugs=False
)
TestAnySequenceOfEventsGivesTheDenseFormula = AnyEvents.TestCase
