"""ModelerRecommender in real BayBE (`make baybe`): a campaign asks for the rows that a modeler would."""

import re
from pathlib import Path

import pandas as pd
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    Constrained,
    Curator,
    Maximize,
    Minimize,
    Modeler,
    NoisyProjection,
    PublicScaling,
)
from botorch_private.hosts.baybe import ModelerRecommender

pytest.importorskip("baybe", reason="make baybe installs it beside the other packages")

from baybe import Campaign
from baybe.objectives import ParetoObjective
from baybe.parameters import NumericalDiscreteParameter
from baybe.recommenders.base import RecommenderProtocol
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget

pytestmark = [pytest.mark.filterwarnings("ignore")]
DOCS = Path(__file__).parents[2] / "docs"
N = 40
RECORDS = torch.rand(N, 2, generator=seeded(0), dtype=torch.float64)
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0])
KNOWN = {"cost": 100 * RECORDS[:, 0], "safety": RECORDS[:, 0] * RECORDS[:, 1]}


def curator_of(*names):
    known = KNOWN["cost"] if not names else KNOWN
    return Curator(
        RECORDS,
        SCALING,
        NoisyProjection(300.0),
        known,
        outcome_names=names or None,
        generator=seeded(1),
    )


def campaign_of(curator, objective, goal=None):
    recommender = ModelerRecommender(curator.release, goal=goal, seed=3)
    assert isinstance(recommender, RecommenderProtocol)
    return Campaign(recommender.search_space, objective, recommender)


def measure(campaign, curator, chosen):
    for name in [target.name for target in campaign.objective.targets]:
        values = [curator.query(int(row)).value for row in chosen["row"]]
        chosen[name] = [each[name] if isinstance(each, dict) else each for each in values]
    campaign.add_measurements(chosen)


@pytest.mark.parametrize("minimize", [False, True])
def test_a_campaign_asks_for_the_rows_that_a_modeler_would(minimize):
    curator = curator_of()
    campaign = campaign_of(curator, NumericalTarget("cost", minimize=minimize).to_objective())
    goal = Minimize() if minimize else Maximize()
    modeler = Modeler(curator.release, goal=goal, generator=torch.Generator().manual_seed(3))
    for _ in range(9):
        chosen, row = campaign.recommend(batch_size=1), modeler.ask()
        assert chosen["row"].tolist() == [row]
        measure(campaign, curator, chosen)
        modeler.tell(row, curator.query(row).value)


def test_several_targets_with_a_limit():
    curator, goal = curator_of(*KNOWN), Constrained(minimize="cost", at_least={"safety": 0.3})
    targets = [NumericalTarget("cost", minimize=True), NumericalTarget("safety")]
    campaign = campaign_of(curator, ParetoObjective(targets), goal)
    modeler = Modeler(curator.release, goal=goal, generator=torch.Generator().manual_seed(3))
    for _ in range(8):
        chosen, row = campaign.recommend(batch_size=1), modeler.ask()
        assert chosen["row"].tolist() == [row]
        measure(campaign, curator, chosen)
        modeler.tell(row, curator.query(row).value)


def test_the_block_of_the_page_runs():
    page = (DOCS / "guide" / "ax_and_baybe.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```py\n(.*?)```", page, re.DOTALL) if "ModelerRecommender" in b]
    curator = curator_of()
    namespace = {"curator": curator, "release": curator.release}
    exec(block, namespace)
    assert len(namespace["campaign"].measurements) == 20


def test_a_batch_and_pending_rows_are_all_different():
    curator = curator_of()
    campaign = campaign_of(curator, NumericalTarget("cost").to_objective())
    for _ in range(3):
        measure(campaign, curator, campaign.recommend(batch_size=3))
    pending = campaign.recommend(batch_size=2)
    more = campaign.recommend(batch_size=3, pending_experiments=pending)
    rows = [*campaign.measurements["row"], *pending["row"], *more["row"]]
    assert len(set(rows)) == len(rows) == 14


def test_what_a_campaign_may_not_ask_for_is_refused():
    curator = curator_of()
    recommender = ModelerRecommender(curator.release)
    space = recommender.search_space
    with pytest.raises(ValueError, match="goal must be given where the objective is not"):
        recommender.recommend(1, space, ParetoObjective([NumericalTarget("a"), NumericalTarget("b")]))
    with pytest.raises(ValueError, match="goal must be given where the target has a transformation"):
        recommender.recommend(1, space, NumericalTarget.match_absolute("a", 3.0).to_objective())
    with pytest.raises(ValueError, match="outcome_noise"):
        ModelerRecommender(curator.release, outcome_noise=2.0)


@pytest.mark.parametrize("points", [[0.0, 3.5], [0.0, float(N)], [-1.0, 0.0]])
def test_points_that_are_no_rows_are_refused(points):
    recommender = ModelerRecommender(curator_of().release)
    rows, target = recommender.search_space, NumericalTarget("cost").to_objective()
    beside = SearchSpace.from_product([NumericalDiscreteParameter("row", points)])
    frame = pd.DataFrame({"row": points, "cost": [1.0, 2.0]})
    with pytest.raises(ValueError, match="row must be a row of the release"):
        recommender.recommend(1, beside, target)
    with pytest.raises(ValueError, match="row must be a row of the release"):
        recommender.recommend(1, rows, target, measurements=frame)
    with pytest.raises(ValueError, match="row must be a row of the release"):
        recommender.recommend(1, rows, target, pending_experiments=frame)
