"""CellResponse: the draw keeps its law, record by record, and the promise is about whole records."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, chisquare

from botorch_private import Mechanism
from botorch_private.curator.cells.cell_response import CellResponse, ManyCellsWarning, told
from botorch_private.curator.cells.cells import CELL_NUMBER, Cells
from botorch_private.curator.mechanisms.entropy import OSEntropy, SeededEntropy
from botorch_private.privacy.response_law import ResponseLaw

N = 200_000
ALPHA = 1e-9


def cells_of(count):
    return Cells([list(range(count + 1))])


@pytest.mark.parametrize(("epsilon", "count"), [(0.5, 2), (3.0, 4), (5.0, 40), (2.0, 3)])
def test_truth_and_lies_have_their_probabilities(epsilon, count):
    """An exact binomial test of p and q, from fresh entropy."""
    law = ResponseLaw.at_most(epsilon, count)
    true = np.full(N, 1 % count)
    labels = told(true, law, OSEntropy())
    honest = int((labels == true).sum())
    assert binomtest(honest, N, law.p).pvalue > ALPHA
    lies = np.bincount(labels[labels != true], minlength=count)
    lies = np.delete(lies, 1 % count)
    if count > 2:
        assert chisquare(lies).pvalue > ALPHA


class Words:
    """Given words, in turn."""

    seeded = True

    def __init__(self, *words):
        self._words = list(words)

    def words(self, count):
        taken, self._words = self._words[:count], self._words[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)


def test_the_truth_is_told_below_its_share_and_not_at_it():
    law = ResponseLaw.at_most(3.0, 4)
    entropy = Words((law.truth - 1) << 1, ((law.truth - 1) << 1) + 1, law.truth << 1, 1, 1, 1)
    assert told(np.array([2, 2, 2]), law, entropy).tolist() == [2, 2, 1]


def test_lies_at_the_incomplete_end_are_drawn_anew():
    law = ResponseLaw.at_most(3.0, 4)  # 2^64 is no multiple of 3: the last word is over
    entropy = Words(2**64 - 1, 2**64 - 1, 2**64 - 1, 5)
    assert told(np.array([0]), law, entropy).tolist() == [3]


def test_every_lie_is_another_cell():
    law = ResponseLaw.at_most(0.5, 3)
    for cell in range(3):
        lies = {int(told(np.array([cell]), law, Words(2**64 - 1, word))[0]) for word in range(2)}
        assert lies == {0, 1, 2} - {cell}


def test_a_label_depends_on_its_own_record_alone():
    """The same words, another record beside it: the same label."""
    law = ResponseLaw.at_most(1.0, 5)
    words = np.random.default_rng(0).integers(0, 2**63, size=8, dtype=np.uint64).tolist()
    one = told(np.array([0, 1, 2, 3]), law, Words(*words))
    other = told(np.array([4, 1, 2, 3]), law, Words(*words))
    assert one[1:].tolist() == other[1:].tolist()


@pytest.mark.parametrize(("n", "count"), [(60, 3), (300_000, 2), (600_000, 10_000)])
def test_small_numbers_are_told_as_wide_ones_are(n, count):
    """int16 numbers, as a table is released by, against float64 ones; and the slow way, one by one."""
    mechanism = CellResponse(12.0, cells_of(count))
    numbers = torch.randint(count, (n, 1), generator=torch.Generator().manual_seed(1))
    seeded = [torch.Generator().manual_seed(2) for _ in range(2)]
    wide = mechanism.apply(numbers.double(), generator=seeded[0])
    small = mechanism.draw(numbers.to(CELL_NUMBER), generator=seeded[1]).rows
    assert small.dtype == CELL_NUMBER
    assert wide.dtype == torch.float64
    assert torch.equal(small.double(), wide)
    entropy = SeededEntropy(torch.Generator().manual_seed(2))
    honest, lies = (entropy.words(min(n, 2**18)).tolist() for _ in range(2))
    law = mechanism.law
    for row in range(0, min(n, 2**18), 97):
        true, lie = int(numbers[row]), lies[row] % (count - 1)
        expected = true if honest[row] // 2 < law.truth else lie + (lie >= true)
        assert int(small[row]) == expected


@pytest.mark.parametrize("numbers", [[[3]], [[-1]], [[0, 1]]])
def test_small_numbers_of_no_cell_are_refused(numbers):
    with pytest.raises(ValueError, match="scaled must h"):
        CellResponse(2.0, cells_of(3)).draw(torch.tensor(numbers, dtype=CELL_NUMBER))


@pytest.mark.parametrize("n", [1000, 100_000, 1_000_000])
@pytest.mark.parametrize("dtype", [CELL_NUMBER, torch.float64])
def test_the_memory_of_a_draw_is_predicted(n, dtype):
    mechanism = CellResponse(8.0, cells_of(40))
    numbers = torch.randint(40, (n, 1)).to(dtype)
    mechanism.draw(numbers[:10])
    tracemalloc.start()
    try:
        rows = mechanism.draw(numbers).rows
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    taken += rows.nbytes if dtype == torch.float64 else 0  # PyTorch's own memory is not traced
    assert taken <= mechanism.draw_memory(n, 1) < 3.5 * taken + 2**14


def test_the_promise_is_the_same_at_every_distance():
    guarantee = CellResponse(3.0, cells_of(4)).guarantee(100, 1)
    assert guarantee.holds
    assert guarantee.delta == 0.0
    assert guarantee.at(1.0) == guarantee.at(1e6) == guarantee.epsilon <= 3.0
    assert guarantee.at(0.0) == 0.0


def test_more_cells_than_epsilon_is_worth_warn():
    with pytest.warns(ManyCellsWarning, match="13 % of records"):
        CellResponse(1.0, cells_of(20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CellResponse(3.0, cells_of(20))


def test_it_is_a_mechanism_and_seeds_repeat_it():
    mechanism = CellResponse(2.0, cells_of(3))
    assert isinstance(mechanism, Mechanism)
    numbers = torch.arange(3, dtype=torch.float64).repeat(50).unsqueeze(-1)
    one, two = (mechanism.apply(numbers, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(mechanism.apply(numbers), mechanism.apply(numbers))


@pytest.mark.parametrize("numbers", [[[3.0]], [[-1.0]], [[0.5]], [[0.0, 1.0]]])
def test_what_is_no_cell_number_is_refused(numbers):
    with pytest.raises(ValueError, match="scaled must h"):
        CellResponse(2.0, cells_of(3)).apply(torch.tensor(numbers, dtype=torch.float64))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 41.0])
def test_unusable_epsilons_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        CellResponse(epsilon, cells_of(3)).guarantee(10, 1)


def test_cells_must_be_cells():
    with pytest.raises(TypeError, match="cells must be Cells"):
        CellResponse(1.0, 4)
