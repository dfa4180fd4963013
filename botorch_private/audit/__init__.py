"""What an adversary can learn: attacks, and lower bounds of epsilon that need no proof to be right."""

from botorch_private.audit.bounds import certified_epsilon
from botorch_private.audit.empirical import empirical_epsilon
from botorch_private.audit.known_sample import known_sample_attack
from botorch_private.audit.one_run import one_run_audit
from botorch_private.audit.order import OrderResult, order_audit
from botorch_private.audit.reconstruction import Reconstruction
from botorch_private.audit.registration import guess, registration_attack
from botorch_private.audit.repeats import RepeatsResult, repeats_audit
from botorch_private.audit.result import AuditResult
from botorch_private.audit.same_noise import Replay, replay

__all__ = [
    "AuditResult",
    "OrderResult",
    "Reconstruction",
    "RepeatsResult",
    "Replay",
    "certified_epsilon",
    "empirical_epsilon",
    "guess",
    "known_sample_attack",
    "one_run_audit",
    "order_audit",
    "registration_attack",
    "repeats_audit",
    "replay",
]
