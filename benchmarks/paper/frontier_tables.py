"""The tables of the privacy-utility frontier, each with declared ranges and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from hyperparameters import Hyperparameters, fitted_public
from problems import PROBLEMS
from torch import Tensor

from botorch_private import PublicScaling
from botorch_private.datasets import hospital
from botorch_private.datasets._files import read

SCATTER = 0.4  # share of the outcome's variance that no record explains: people and markets
_FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class FrontierTable:
    """Records and outcomes of one search, and how they are declared.

    Attributes:
        name: In results.
        raw: ``n x d`` records.
        scaling: Their declared ranges.
        draw_outcomes: The ``n`` outcomes of a run's seed, to be maximised.
        sigma_y: Regrets are reported in it.
        outcome_noise: What the modeler expects, from what kind of outcome it is; None: no noise.
        hyperparameters: Of an isotropic process, fitted to 1,500 random records, or all: what "known"
            means.
        about: What it is, in a sentence.
    """

    name: str
    raw: Tensor
    scaling: PublicScaling
    draw_outcomes: Callable[[int], Tensor]
    sigma_y: float
    outcome_noise: float | None
    hyperparameters: Hyperparameters | None
    about: str

    @property
    def width(self) -> int:
        """Features of a record."""
        return self.raw.shape[1]


def _of_paper(name: str, outcome_noise: float | None) -> FrontierTable:
    problem = PROBLEMS[name]()
    return FrontierTable(
        name,
        problem.raw,
        problem.scaling,
        problem.draw_outcomes,
        problem.sigma_y,
        outcome_noise,
        fitted_public(name),
        f"the paper's problem under declared ranges; tail rule: {problem.tail_rule}",
    )


def _constant(
    name: str,
    raw: Tensor,
    scaling: PublicScaling,
    outcomes: Tensor,
    outcome_noise: float | None,
    about: str,
) -> FrontierTable:
    standard = (outcomes - outcomes.mean()) / outcomes.std(correction=0)
    return FrontierTable(
        name,
        raw,
        scaling,
        lambda seed: standard,
        1.0,
        outcome_noise,
        fitted_public(name),
        about,
    )


# --- hospital ---

# A clinician's choice for cost: how intensive care is, and how long it lasts. Everything that is a
# matter of taste here was chosen with the table at hand, which a curator must not do.
FEW_OF_HOSPITAL = ("avtisst", "hday")
LONG_STAY = 100.0  # days: a search for the costliest stay must not cut long stays off at a month


def _hospital() -> FrontierTable:
    data = hospital()
    return _constant(
        "hospital",
        data.records,
        PublicScaling(data.lower, data.upper, names=data.features),
        data.outcomes,
        SCATTER,
        "8,126 stays, 22 features, log cost; declared ranges of `datasets.hospital`",
    )


def _hospital_long() -> FrontierTable:
    data = hospital()
    upper = [
        LONG_STAY if feature == "hday" else end
        for feature, end in zip(data.features, data.upper, strict=True)
    ]
    return _constant(
        "hospital, long stays",
        data.records,
        PublicScaling(data.lower, upper, names=data.features),
        data.outcomes,
        SCATTER,
        f"the same with day of stay declared up to {LONG_STAY:.0f} instead of 30",
    )


def _hospital_few(radius: float, name: str) -> FrontierTable:
    data = hospital()
    columns = [data.features.index(feature) for feature in FEW_OF_HOSPITAL]
    lower = [data.lower[j] for j in columns]
    upper = [data.upper[columns[0]], LONG_STAY]
    scaling = PublicScaling(lower, upper, radius=radius, names=FEW_OF_HOSPITAL)
    shown = ", ".join(
        f"{size:.2g} {feature}"
        for feature, size in zip(FEW_OF_HOSPITAL, scaling.unit.tolist(), strict=True)
    )
    return _constant(
        name,
        data.records[:, columns],
        scaling,
        data.outcomes,
        SCATTER,
        "the same stays by intensity of care (TISS, 0 to 60) and day of stay (1 to 100) alone; one "
        f"unit is {shown}",
    )


def _hospital_weighted() -> FrontierTable:
    """All features, with declared importance: those few count three times, yes/no features a third."""
    data = hospital()
    span = torch.tensor(data.upper, dtype=torch.float64) - torch.tensor(data.lower, dtype=torch.float64)
    weight = torch.tensor(
        [
            3.0 if feature in FEW_OF_HOSPITAL else 1 / 3 if unit == "yes/no" else 1.0
            for feature, unit in zip(data.features, data.units, strict=True)
        ],
        dtype=torch.float64,
    )
    scaling = PublicScaling(
        data.lower, data.upper, lengthscale=(span / weight).tolist(), names=data.features
    )
    return _constant(
        "hospital, weighted",
        data.records,
        scaling,
        data.outcomes,
        SCATTER,
        "all 22 features with declared length-scales: intensity and day count three times, yes/no "
        "features a third",
    )


# --- telemonitoring ---

# Upper ends: about twice the normal limits of the Multi-Dimensional Voice Program (jitter 1.04 %,
# RAP 0.68 %, PPQ 0.84 %, shimmer 3.81 % and 0.35 dB, APQ11 3.07 %, NHR 0.19); the last three are
# indices on a unit scale.
_VOICE = {
    "age": (35.0, 90.0),
    "sex": (0.0, 1.0),
    "test_time": (0.0, 215.0),
    "Jitter(%)": (0.0, 0.02),
    "Jitter(Abs)": (0.0, 1.6e-4),
    "Jitter:RAP": (0.0, 0.014),
    "Jitter:PPQ5": (0.0, 0.017),
    "Shimmer": (0.0, 0.1),
    "Shimmer(dB)": (0.0, 1.0),
    "Shimmer:APQ3": (0.0, 0.06),
    "Shimmer:APQ5": (0.0, 0.06),
    "Shimmer:APQ11": (0.0, 0.08),
    "NHR": (0.0, 0.3),
    "HNR": (5.0, 35.0),
    "RPDE": (0.2, 1.0),
    "DFA": (0.5, 0.9),
    "PPE": (0.0, 0.6),
}
FEW_OF_VOICE = ("age", "sex", "test_time", "HNR", "DFA", "PPE")


def _telemonitoring(few: bool) -> FrontierTable:
    arrays, provenance = read("parkinsons_telemonitoring", _FOLDER)
    names = provenance["columns"]["x"]
    kept = [names.index(name) for name in (FEW_OF_VOICE if few else names)]
    ranges = [_VOICE[names[j]] for j in kept]
    scaling = PublicScaling(*(list(ends) for ends in zip(*ranges, strict=True)))
    name = "telemonitoring, few" if few else "telemonitoring"
    return _constant(
        name,
        torch.from_numpy(arrays["x"][:, kept].astype(np.float64)),
        scaling,
        torch.from_numpy(arrays["y"].astype(np.float64)),
        SCATTER,
        f"5,875 voice recordings of 42 patients, {len(kept)} features, total UPDRS; several rows a "
        f"patient, so that the guarantee is for a recording, not for a person",
    )


# --- solubility ---

# The four descriptors of Delaney's own model (2004), as near as the table has them.
FEW_OF_ESOL = ("MolLogP", "MolWt", "NumRotatableBonds", "NumAromaticRings")


def _esol(kind: str) -> FrontierTable:
    arrays, provenance = read("esol_solubility", _FOLDER)
    y = torch.from_numpy(arrays["y"].astype(np.float64))
    if kind == "bits":
        bits = np.unpackbits(arrays["fp_packed"], axis=1)[:, : int(arrays["n_bits"])]
        raw = torch.from_numpy(bits.astype(np.float64))
        scaling = PublicScaling([0.0] * raw.shape[1], [1.0] * raw.shape[1])
        about = f"1,117 molecules, {raw.shape[1]} fingerprint bits, log solubility"
        return _constant("esol, bits", raw, scaling, y, 0.1, about)
    names = provenance["columns"]["x2d"]
    kept = [names.index(name) for name in (FEW_OF_ESOL if kind == "few" else names)]
    raw = torch.from_numpy(arrays["x2d"][:, kept].astype(np.float64))
    scaling = PublicScaling([-3.0] * len(kept), [3.0] * len(kept))
    about = (
        f"1,117 molecules, {len(kept)} descriptors, log solubility; the table comes standardized, so "
        "that the range of -3 to 3 is public only if its means and deviations are"
    )
    return _constant("esol, few" if kind == "few" else "esol", raw, scaling, y, 0.1, about)


TABLES: dict[str, Callable[[], FrontierTable]] = {
    "synthetic_gp": lambda: _of_paper("synthetic_gp", None),
    "loan": lambda: _of_paper("loan", SCATTER),
    "property": lambda: _of_paper("property", SCATTER),
    "branin": lambda: _of_paper("branin", None),
    "hospital": _hospital,
    "hospital, long stays": _hospital_long,
    "hospital, weighted": _hospital_weighted,
    "hospital, few": lambda: _hospital_few(25.0, "hospital, few"),
    "hospital, few, same unit": lambda: _hospital_few(
        25.0 * math.sqrt(2 / 22), "hospital, few, same unit"
    ),
    "telemonitoring": lambda: _telemonitoring(few=False),
    "telemonitoring, few": lambda: _telemonitoring(few=True),
    "esol": lambda: _esol("descriptors"),
    "esol, few": lambda: _esol("few"),
    "esol, bits": lambda: _esol("bits"),
}


@lru_cache(maxsize=2)
def table_named(name: str) -> FrontierTable:
    """Make a table once in a process."""
    return TABLES[name]()
