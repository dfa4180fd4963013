"""Private, outsourced Bayesian optimization for BoTorch.

A curator releases a differentially private table once (`Curator`, `Release`); a modeler optimizes
over its rows (`Modeler`, `DiscreteUCB`) and sends back row indices; the curator measures and answers
with numbers. `PrivateProjectionTransform` does the same inside an existing BoTorch loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botorch_private.curator.cells.cell_response import CellResponse, ManyCellsWarning
    from botorch_private.curator.cells.cells import Cells
    from botorch_private.curator.cells.cells_file import load_cells, save_cells
    from botorch_private.curator.cells.suggest_cells import suggest_cells
    from botorch_private.curator.curator import Curator
    from botorch_private.curator.features.encoding import Encoding
    from botorch_private.curator.features.kinds import Category, Number, YesNo
    from botorch_private.curator.features.ranges import load_encoding, load_ranges
    from botorch_private.curator.features.scaling import PublicScaling
    from botorch_private.curator.history.choose_features import FeatureChoice, choose_features
    from botorch_private.curator.large.parts_oracle import PartsOracle
    from botorch_private.curator.large.release_parquet import release_parquet
    from botorch_private.curator.large.row_map import RowMap
    from botorch_private.curator.ledger import BudgetError, Ledger
    from botorch_private.curator.mechanisms import (
        Drawn,
        Mechanism,
        NoisyProjection,
        NoPrivacy,
        OutcomeMechanism,
        SpectralProjection,
        add_noise,
    )
    from botorch_private.curator.objective import MeasurementError
    from botorch_private.curator.transform import PrivateProjectionTransform
    from botorch_private.exchange.goals import Above, Maximize, Minimize, Target, TopK
    from botorch_private.exchange.named_goals import Constrained, Scalarized
    from botorch_private.exchange.observation import NoValueError, Observation, WithdrawnError
    from botorch_private.exchange.release import Release
    from botorch_private.exchange.released_parts import ReleasedParts
    from botorch_private.exchange.search_prior import SearchPrior
    from botorch_private.modeler.acquisition import (
        DiscreteStraddle,
        DiscreteUCB,
        TiedScoresWarning,
        ucb_beta,
    )
    from botorch_private.modeler.denoised_release import DenoisedRelease
    from botorch_private.modeler.goals.above import RowsAbove
    from botorch_private.modeler.history import History
    from botorch_private.modeler.modeler import Modeler
    from botorch_private.modeler.models import (
        DiscretePosterior,
        ReleasedInputKernel,
        fit_model,
        make_model,
    )
    from botorch_private.modeler.models.label_kernel import LabelKernel
    from botorch_private.modeler.remote.client import RemoteCurator
    from botorch_private.modeler.remote.transport import RemoteError
    from botorch_private.modeler.run import run
    from botorch_private.privacy.guarantee import PrivacyGuarantee
    from botorch_private.privacy.noise_law import NoiseLaw
    from botorch_private.privacy.spending import compose
    from botorch_private.privacy.warnings import (
        ClippedRecordsWarning,
        NotDifferentiallyPrivate,
        PrivacyLeakWarning,
    )

__all__ = [
    "Above",
    "BudgetError",
    "Category",
    "CellResponse",
    "Cells",
    "ClippedRecordsWarning",
    "Constrained",
    "Curator",
    "DenoisedRelease",
    "DiscretePosterior",
    "DiscreteStraddle",
    "DiscreteUCB",
    "Drawn",
    "Encoding",
    "FeatureChoice",
    "History",
    "LabelKernel",
    "Ledger",
    "ManyCellsWarning",
    "Maximize",
    "MeasurementError",
    "Mechanism",
    "Minimize",
    "Modeler",
    "NoPrivacy",
    "NoValueError",
    "NoiseLaw",
    "NoisyProjection",
    "NotDifferentiallyPrivate",
    "Number",
    "Observation",
    "OutcomeMechanism",
    "PartsOracle",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "PrivateProjectionTransform",
    "PublicScaling",
    "Release",
    "ReleasedInputKernel",
    "ReleasedParts",
    "RemoteCurator",
    "RemoteError",
    "RowMap",
    "RowsAbove",
    "Scalarized",
    "SearchPrior",
    "SpectralProjection",
    "Target",
    "TiedScoresWarning",
    "TopK",
    "WithdrawnError",
    "YesNo",
    "add_noise",
    "choose_features",
    "compose",
    "fit_model",
    "load_cells",
    "load_encoding",
    "load_ranges",
    "make_model",
    "release_parquet",
    "run",
    "save_cells",
    "suggest_cells",
    "ucb_beta",
]

__version__ = "0.1.0"

# Names load when they are first used: `botorch-private --help` does not wait for BoTorch.
_HOMES = {
    "Above": "exchange.goals",
    "BudgetError": "curator.ledger",
    "Category": "curator.features.kinds",
    "CellResponse": "curator.cells.cell_response",
    "Cells": "curator.cells.cells",
    "ClippedRecordsWarning": "privacy.warnings",
    "Constrained": "exchange.named_goals",
    "Curator": "curator.curator",
    "DenoisedRelease": "modeler.denoised_release",
    "DiscretePosterior": "modeler.models",
    "DiscreteStraddle": "modeler.acquisition",
    "DiscreteUCB": "modeler.acquisition",
    "Drawn": "curator.mechanisms",
    "Encoding": "curator.features.encoding",
    "FeatureChoice": "curator.history.choose_features",
    "History": "modeler.history",
    "LabelKernel": "modeler.models.label_kernel",
    "Ledger": "curator.ledger",
    "ManyCellsWarning": "curator.cells.cell_response",
    "Maximize": "exchange.goals",
    "MeasurementError": "curator.objective",
    "Mechanism": "curator.mechanisms",
    "Minimize": "exchange.goals",
    "Modeler": "modeler.modeler",
    "NoPrivacy": "curator.mechanisms",
    "NoValueError": "exchange.observation",
    "NoiseLaw": "privacy.noise_law",
    "NoisyProjection": "curator.mechanisms",
    "NotDifferentiallyPrivate": "privacy.warnings",
    "Number": "curator.features.kinds",
    "Observation": "exchange.observation",
    "OutcomeMechanism": "curator.mechanisms",
    "PartsOracle": "curator.large.parts_oracle",
    "PrivacyGuarantee": "privacy.guarantee",
    "PrivacyLeakWarning": "privacy.warnings",
    "PrivateProjectionTransform": "curator.transform",
    "PublicScaling": "curator.features.scaling",
    "Release": "exchange.release",
    "ReleasedInputKernel": "modeler.models",
    "ReleasedParts": "exchange.released_parts",
    "RemoteCurator": "modeler.remote.client",
    "RemoteError": "modeler.remote.transport",
    "RowMap": "curator.large.row_map",
    "RowsAbove": "modeler.goals.above",
    "Scalarized": "exchange.named_goals",
    "SearchPrior": "exchange.search_prior",
    "SpectralProjection": "curator.mechanisms",
    "Target": "exchange.goals",
    "TiedScoresWarning": "modeler.acquisition",
    "TopK": "exchange.goals",
    "WithdrawnError": "exchange.observation",
    "YesNo": "curator.features.kinds",
    "add_noise": "curator.mechanisms",
    "choose_features": "curator.history.choose_features",
    "compose": "privacy.spending",
    "fit_model": "modeler.models",
    "load_cells": "curator.cells.cells_file",
    "load_encoding": "curator.features.ranges",
    "load_ranges": "curator.features.ranges",
    "make_model": "modeler.models",
    "release_parquet": "curator.large.release_parquet",
    "run": "modeler.run",
    "save_cells": "curator.cells.cells_file",
    "suggest_cells": "curator.cells.suggest_cells",
    "ucb_beta": "modeler.acquisition",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
