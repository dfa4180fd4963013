"""Mechanisms: scaled records in, released rows out. Add one by adding a file."""

from botorch_private.mechanisms.base import Drawn, Mechanism
from botorch_private.mechanisms.no_privacy import NoPrivacy
from botorch_private.mechanisms.noisy_projection import NoisyProjection
from botorch_private.mechanisms.outcome import OutcomeMechanism
from botorch_private.mechanisms.spectral_projection import SpectralProjection

__all__ = [
    "Drawn",
    "Mechanism",
    "NoPrivacy",
    "NoisyProjection",
    "OutcomeMechanism",
    "SpectralProjection",
]
