"""Mechanisms: scaled records in, released rows out. Add one by adding a file."""

from botorch_private.curator.mechanisms.base import Drawn, Mechanism
from botorch_private.curator.mechanisms.no_privacy import NoPrivacy
from botorch_private.curator.mechanisms.noise import add_noise
from botorch_private.curator.mechanisms.noisy_projection import NoisyProjection
from botorch_private.curator.mechanisms.outcome import OutcomeMechanism
from botorch_private.curator.mechanisms.spectral_projection import SpectralProjection

__all__ = [
    "Drawn",
    "Mechanism",
    "NoPrivacy",
    "NoisyProjection",
    "OutcomeMechanism",
    "SpectralProjection",
    "add_noise",
]
