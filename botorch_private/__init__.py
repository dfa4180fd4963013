"""Private, outsourced Bayesian optimization for BoTorch.

A curator releases a differentially private table once (`Curator`, `Release`); a modeler optimizes
over its rows (`Modeler`, `DiscreteUCB`) and sends back row indices; the curator measures and answers
with numbers. `PrivateProjectionTransform` does the same inside an existing BoTorch loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botorch_private.acquisition import DiscreteUCB, TiedScoresWarning, ucb_beta
    from botorch_private.curator import BudgetError, Curator, Ledger, MeasurementError
    from botorch_private.denoised_release import DenoisedRelease
    from botorch_private.guarantee import PrivacyGuarantee
    from botorch_private.history import History
    from botorch_private.loop import run
    from botorch_private.mechanisms import (
        Mechanism,
        NoisyProjection,
        NoPrivacy,
        OutcomeMechanism,
        SpectralProjection,
    )
    from botorch_private.modeler import Modeler, RemoteCurator, RemoteError
    from botorch_private.models import DiscretePosterior, ReleasedInputKernel, fit_model, make_model
    from botorch_private.observation import Observation, WithdrawnError
    from botorch_private.privacy_warnings import NotDifferentiallyPrivate, PrivacyLeakWarning
    from botorch_private.release import Release
    from botorch_private.scaling import PublicScaling
    from botorch_private.spending import compose
    from botorch_private.transform import PrivateProjectionTransform

__all__ = [
    "BudgetError",
    "Curator",
    "DenoisedRelease",
    "DiscretePosterior",
    "DiscreteUCB",
    "History",
    "Ledger",
    "MeasurementError",
    "Mechanism",
    "Modeler",
    "NoPrivacy",
    "NoisyProjection",
    "NotDifferentiallyPrivate",
    "Observation",
    "OutcomeMechanism",
    "PrivacyGuarantee",
    "PrivacyLeakWarning",
    "PrivateProjectionTransform",
    "PublicScaling",
    "Release",
    "ReleasedInputKernel",
    "RemoteCurator",
    "RemoteError",
    "SpectralProjection",
    "TiedScoresWarning",
    "WithdrawnError",
    "compose",
    "fit_model",
    "make_model",
    "run",
    "ucb_beta",
]

__version__ = "0.1.0"

# Names load when they are first used: `botorch-private --help` does not wait for BoTorch.
_HOMES = {
    "BudgetError": "curator",
    "Curator": "curator",
    "DenoisedRelease": "denoised_release",
    "DiscretePosterior": "models",
    "DiscreteUCB": "acquisition",
    "History": "history",
    "Ledger": "curator",
    "MeasurementError": "curator",
    "Mechanism": "mechanisms",
    "Modeler": "modeler",
    "NoPrivacy": "mechanisms",
    "NoisyProjection": "mechanisms",
    "NotDifferentiallyPrivate": "privacy_warnings",
    "Observation": "observation",
    "OutcomeMechanism": "mechanisms",
    "PrivacyGuarantee": "guarantee",
    "PrivacyLeakWarning": "privacy_warnings",
    "PrivateProjectionTransform": "transform",
    "PublicScaling": "scaling",
    "Release": "release",
    "ReleasedInputKernel": "models",
    "RemoteCurator": "modeler",
    "RemoteError": "modeler",
    "SpectralProjection": "mechanisms",
    "TiedScoresWarning": "acquisition",
    "WithdrawnError": "observation",
    "compose": "spending",
    "fit_model": "models",
    "make_model": "models",
    "run": "loop",
    "ucb_beta": "acquisition",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
