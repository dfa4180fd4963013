"""response_audit catches planted faults of randomized response, and lets the honest one pass.

Each mutant draws as `CellResponse` does but for one thing, and names a part of what the audit must say.
An honest run is refuted once in a million.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import CellResponse, Cells, Curator, NoisyProjection
from botorch_private.audit import response_audit
from botorch_private.audit.two_sided import two_sided
from botorch_private.curator.cells.cell_response import told
from botorch_private.curator.mechanisms.base import Drawn
from botorch_private.curator.mechanisms.entropy import OSEntropy, SeededEntropy
from botorch_private.privacy.response_law import WHOLE, ResponseLaw

pytestmark = pytest.mark.filterwarnings("ignore::botorch_private.ManyCellsWarning")

N = 60_000  # made-up records of a table; the mutants that need more say so


def cells_of(count):
    return Cells([list(range(count + 1))])


class Mutant(CellResponse):
    """Tells labels in another way: `tell(cells, law)`, both `n` whole numbers."""

    def __init__(self, tell, epsilon=3.0, count=4):
        super().__init__(epsilon, cells_of(count))
        object.__setattr__(self, "tell", tell)

    def draw(self, scaled, *, generator=None):
        def labels(table):
            told_of = self.tell(table[:, 0].numpy().astype(np.int64), self.law)
            return torch.from_numpy(np.asarray(told_of)).double().unsqueeze(-1)

        return Drawn(labels(scaled), more=labels)


def honest(cells, law):
    return told(cells, law, OSEntropy())


def coin(cells, share):
    return np.random.default_rng().random(len(cells)) < share


def caught(tell, *, says, epsilon=3.0, count=4, records=N):
    found = response_audit(Mutant(tell, epsilon, count), records=records)
    assert found.refuted
    assert any(says in problem for problem in found.problems), found.problems


# --- honest ---


@pytest.mark.parametrize("count", [2, 3, 4, 40, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 7.0, 12.0, 30.0])
def test_an_honest_response_passes(count, epsilon):
    found = response_audit(CellResponse(epsilon, cells_of(count)), records=20_000)
    assert not found.refuted, found.problems


@pytest.mark.parametrize(("epsilon", "count"), [(3.0, 2), (3.0, 3), (3.0, 4), (3.5, 40), (7.0, 1000)])
def test_false_alarms_are_as_rare_as_the_level_says(epsilon, count):
    """At a level of 0.2, 24 audits are refuted 4.8 times on average; 13 has a chance of 2e-4."""
    mechanism = CellResponse(epsilon, cells_of(count))
    alarms = [response_audit(mechanism, records=4_000, level=0.2, seed=s).refuted for s in range(24)]
    assert sum(alarms) <= 12


def test_the_default_device_of_the_host_does_not_matter():
    torch.set_default_device("meta")
    try:
        found = response_audit(CellResponse(3.0, cells_of(4)), records=1_000)
    finally:
        torch.set_default_device(None)
    assert not found.refuted


def test_a_table_beyond_a_block_of_the_sampler_passes():
    assert not response_audit(CellResponse(3.0, cells_of(4)), records=300_000).refuted


# --- the truth is told too often or too rarely ---


@pytest.mark.parametrize(("epsilon", "count"), [(3.0, 2), (3.0, 3), (3.0, 4), (4.0, 40), (7.5, 1000)])
@pytest.mark.parametrize("factor", [1.01, 0.99])
def test_a_truth_that_is_1_percent_off_is_caught(epsilon, count, factor):
    def tell(cells, law):
        return honest(cells, replace(law, truth=int(law.truth * factor)))

    caught(tell, says="told with probability p", epsilon=epsilon, count=count, records=250_000)


def test_a_truth_that_is_told_always_is_caught_where_lies_are_rare():
    caught(lambda cells, law: cells, says="lies are told", epsilon=8.0, count=2, records=N)


def test_one_cell_that_is_told_more_truly_is_caught():
    def tell(cells, law):
        labels = honest(cells, law)
        return np.where((cells == 2) & coin(cells, 0.2), cells, labels)

    caught(tell, says="the truth of each cell")


# --- lies are not uniform ---


def favourite(cells, law):
    """A tenth of the lies are told anew, as cell 0 where that is a lie."""
    labels = honest(cells, law)
    again = (labels != cells) & (cells != 0) & coin(cells, 0.1)
    return np.where(again, 0, labels)


def neighbours(cells, law):
    labels = honest(cells, law)
    again = (labels != cells) & coin(cells, 0.2)
    return np.where(again, (cells + 1) % law.cells, labels)


def never_the_last(cells, law):
    labels = honest(cells, law)
    last = (labels == law.cells - 1) & (cells != labels)
    return np.where(last, np.where(cells == 0, 1, 0), labels)


def each_its_own(cells, law):
    """Every cell has a favourite of its own; no label and no distance is favoured over all."""
    order = np.random.default_rng(5).permutation(law.cells)
    labels = honest(cells, law)
    again = (labels != cells) & (order[cells] != cells) & coin(cells, 0.3)
    return np.where(again, order[cells], labels)


LIES = {
    "favourite": (favourite, "with probability q"),
    "neighbours": (neighbours, "as far from the truth"),
    "never the last": (never_the_last, "with probability q"),
    "each its own": (each_its_own, "told equally often"),
}


@pytest.mark.parametrize("count", [4, 40, 1000])
@pytest.mark.parametrize("fault", LIES)
def test_lies_that_are_not_uniform_are_caught(fault, count):
    tell, says = LIES[fault]
    caught(tell, says=says, epsilon=math.log(2 * count), count=count, records=250_000)


def test_a_lie_of_three_cells_that_prefers_one_is_caught():
    caught(favourite, says="with probability q", count=3)


def test_a_label_that_is_no_cell_is_caught():
    caught(lambda cells, law: honest(cells, law) + 1, says="one of the cells")


def test_a_label_that_is_no_number_is_caught():
    caught(lambda cells, law: np.full(len(cells), math.nan), says="one of the cells")


# --- a label depends on another record ---


@pytest.mark.parametrize("apart", [1, 7, 1000])
def test_a_lie_that_is_the_cell_of_another_record_is_caught(apart):
    def tell(cells, law):
        labels, other = honest(cells, law), np.roll(cells, apart)
        told_of = (labels != cells) & (other != cells) & coin(cells, 0.3)
        return np.where(told_of, other, labels)

    caught(tell, says="which lie is told does not depend on the cells of others", records=250_000)


def test_a_truth_that_goes_with_the_cell_of_another_record_is_caught():
    """Told as often on the whole: more where the neighbour is in the first half of the cells."""

    def tell(cells, law):
        other = np.roll(cells, 3) < law.cells // 2
        up, down = (replace(law, truth=int(law.truth + step * law.truth // 40)) for step in (1, -1))
        return np.where(other, honest(cells, up), honest(cells, down))

    caught(tell, says="told truly does not depend", count=4, records=250_000)
    caught(tell, says="told truly does not depend", count=2, records=250_000)


def test_labels_that_depend_on_what_all_others_are_are_caught():
    def tell(cells, law):
        crowded = np.bincount(cells, minlength=law.cells).max() > 0.55 * len(cells)
        return honest(cells, replace(law, truth=int(law.truth * 1.02)) if crowded else law)

    caught(tell, says="in each table the truth")


# --- random numbers are used again ---


def from_a_fixed_stream(cells, law):
    return told(cells, law, SeededEntropy(seeded(3)))


@pytest.mark.parametrize("count", [2, 3, 40])
def test_labels_told_again_from_a_fixed_stream_are_caught(count):
    caught(from_a_fixed_stream, says="are not those of the first", count=count)


def test_a_stream_that_goes_on_after_the_rows_of_the_first_release_is_caught():
    class Once:
        """Rows that join later are told by the numbers of the release, a few rows on."""

        words = None

        def __call__(self, cells, law):
            if self.words is None:
                self.words = np.roll(np.random.default_rng().random(len(cells)), 17)
            u = self.words = np.roll(self.words, 17)
            return np.where(u < law.p, cells, 1 - cells)

    caught(Once(), says="are not those of the first", count=2)


def test_lies_told_again_are_caught_though_truths_are_new():
    which = np.random.default_rng(1).integers(3, size=N)

    def tell(cells, law):
        truly = honest(cells, law) == cells
        lie = which + (which >= cells)
        return np.where(truly, cells, lie)

    caught(tell, says="lies of a second release")


@pytest.mark.parametrize("count", [2, 4])
def test_a_chunk_that_repeats_another_chunk_is_caught(count):
    """Whatever its length: blocks of 2^13 rows, and one block of 20,000 that comes twice."""

    def blocks(cells, law):
        block = np.random.default_rng().random(2**13)
        return numbers_to_labels(cells, np.resize(block, len(cells)), law)

    def twice(cells, law):
        numbers = np.random.default_rng().random(len(cells))
        numbers[130_000:150_000] = numbers[11:20_011]
        return numbers_to_labels(cells, numbers, law)

    caught(blocks, says="two rows do not go together", count=count)
    caught(twice, says="two rows do not go together", count=count, records=200_000)


def numbers_to_labels(cells, uniform, law):
    lie = np.minimum(((uniform - law.p) / law.q).astype(np.int64), law.cells - 2)
    return np.where(uniform < law.p, cells, lie + (lie >= cells))


def test_the_same_labels_of_numbers_that_are_new_pass():
    """The honest twin of the two above."""
    fresh = Mutant(
        lambda cells, law: numbers_to_labels(cells, np.random.default_rng().random(len(cells)), law)
    )
    assert not response_audit(fresh, records=N).refuted


def test_two_processes_that_lie_alike_are_caught():
    """A generator in memory: fork copies it."""
    generator = np.random.default_rng()
    caught(
        lambda cells, law: numbers_to_labels(cells, generator.random(len(cells)), law),
        says="two copies of this process",
    )


# --- the curator: order of rows ---


class Kept(Curator):
    """A curator whose rows are put into another order: `order(published)`, released row -> record."""

    @staticmethod
    def order(published):
        raise NotImplementedError

    def _publish(self, **how):
        published = super()._publish(**how)
        order = self.order(published)
        labels = published.release.labels[published.rows_of_records[order]]
        old = published.release
        release = old.of_labels(labels, old.cells, old.guarantee)
        return replace(published, release=release, permutation=order)


class Lost(Kept):
    @staticmethod
    def order(published):
        return torch.arange(len(published.permutation))


class Reversed(Kept):
    @staticmethod
    def order(published):
        return torch.arange(len(published.permutation)).flip(0)


class Fixed(Kept):
    @staticmethod
    def order(published):
        return torch.randperm(len(published.permutation), generator=torch.Generator().manual_seed(1))


class PartlyKept(Kept):
    """The last hundred rows are never moved."""

    @staticmethod
    def order(published):
        n = len(published.permutation)
        return torch.cat([torch.randperm(n - 100), torch.arange(n - 100, n)])


class SaysAnother(Kept):
    """Rows are shuffled, but the curator keeps another order: answers go to other rows."""

    def _publish(self, **how):
        published = super(Kept, self)._publish(**how)
        return replace(published, permutation=torch.randperm(len(published.permutation)))


class Shuffled(Kept):
    """The honest counterpart: moved once more, and said so."""

    @staticmethod
    def order(published):
        return published.permutation[torch.randperm(len(published.permutation))]


@pytest.mark.parametrize(
    ("curator", "says"),
    [
        (Lost, "do not stay in the table's order"),
        (Reversed, "are not in the table's order, reversed"),
        (Fixed, "two releases of labels have orders of their own"),
        (PartlyKept, "do not stay in the table's order"),
        (SaysAnother, "labels are those of the records that the order says"),
    ],
)
@pytest.mark.parametrize(("epsilon", "count"), [(3.0, 4), (7.0, 1000)])
def test_a_lost_permutation_is_caught(curator, says, epsilon, count):
    found = response_audit(CellResponse(epsilon, cells_of(count)), curator=curator, records=2_000)
    assert any(says in problem for problem in found.problems), found.problems


def test_rows_in_another_random_order_pass():
    assert not response_audit(CellResponse(3.0, cells_of(4)), curator=Shuffled, records=2_000).refuted


def test_a_uniform_order_agrees_with_a_fixed_one_as_rarely_as_is_said():
    """By all orders of 6: at most 1 / k! of them agree in k places."""
    orders = np.array(list(itertools.permutations(range(6))))
    alike = (orders == np.arange(6)).sum(axis=1)
    for k in range(7):
        assert (alike >= k).mean() <= 1 / math.factorial(k)


# --- what is stated ---


class Understated(CellResponse):
    def guarantee(self, n, d):
        return replace(super().guarantee(n, d), epsilon=self.law.epsilon(1.0) * (1 - 1e-9))


def test_an_epsilon_that_is_stated_too_small_is_caught():
    found = response_audit(Understated(3.0, cells_of(4)), records=1_000)
    assert "epsilon is at least log(p / q)" in found.problems[0]


class SmallerLaw(CellResponse):
    """States the law of a smaller epsilon, as a whole, and draws by another."""

    def guarantee(self, n, d):
        return CellResponse(self.epsilon - 0.1, self.cells).guarantee(n, d)


@pytest.mark.parametrize("count", [2, 4, 40])
def test_a_law_that_is_stated_too_small_is_caught(count):
    found = response_audit(SmallerLaw(3.0, cells_of(count)), records=250_000)
    assert any("told with probability p" in problem for problem in found.problems)


# --- at the door ---


def test_what_is_no_randomized_response_is_refused():
    with pytest.raises(ValueError, match="must state a randomized response"):
        response_audit(NoisyProjection(1.0))
    with pytest.raises(TypeError, match="mechanism must be a mechanism such as CellResponse"):
        response_audit(CellResponse)


@pytest.mark.parametrize("wrong", [{"records": 999}, {"level": 0.0}, {"seed": -1}])
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        response_audit(CellResponse(3.0, cells_of(2)), **wrong)


def test_it_says_what_it_would_not_have_seen():
    rare = response_audit(CellResponse(20.0, cells_of(3)), records=1_000)
    assert "of lies next to nothing" in str(rare)
    assert "what forked processes do" in str(rare)


def test_exact_chances_are_those_of_scipy():
    from scipy.stats import binomtest

    law = ResponseLaw(4, WHOLE // 2)
    assert two_sided(480, 1000, law.p) == pytest.approx(binomtest(480, 1000, law.p).pvalue, rel=1e-9)
