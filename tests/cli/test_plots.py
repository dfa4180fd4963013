"""The plot of a search shows the bound above the best value so far."""

import math

import numpy as np
import pytest

from botorch_private.cli import plots


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draw, and return the lines by their labels."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    def draw(values, **options):
        figures = []
        original = Figure.savefig
        monkeypatch.setattr(
            Figure, "savefig", lambda self, *a, **k: figures.append(self) or original(self, *a, **k)
        )
        best = np.maximum.accumulate(values)
        plots.plot_best(np.array(values), best, tmp_path / "best.png", **options)
        (axes,) = figures[0].axes
        return {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}

    return draw


def test_the_bound_stands_above_the_best_value_of_its_round(drawn):
    lines = drawn([1.0, 3.0, 2.0, 4.0], bounds=[1.5, 0.5])
    (bound,) = [lines[label] for label in lines if "bound" in label]
    assert bound == [[3.0, 4.5], [4.0, 4.5]]


def test_without_a_bound_or_with_an_infinite_one_nothing_is_drawn(drawn):
    for bounds in ([], [math.inf, math.inf]):
        assert not any("bound" in label for label in drawn([1.0, 1.0], bounds=bounds))


def test_the_lines_say_what_is_best_and_what_is_wanted(drawn):
    lines = drawn([1.0, 3.0], best_is="the nearest to 2", wanted=("target", 2.0))
    assert [y for _, y in lines["target"]] == [2.0, 2.0]
    assert "the nearest to 2 so far" in lines
