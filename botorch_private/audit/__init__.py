"""What an adversary can learn: attacks, and lower bounds of epsilon that need no proof to be right."""

from botorch_private.audit.bounds import certified_epsilon
from botorch_private.audit.claims import guarantee_audit
from botorch_private.audit.clipping import clipping_audit
from botorch_private.audit.empirical import empirical_epsilon
from botorch_private.audit.findings import Check, Findings
from botorch_private.audit.known_sample import known_sample_attack
from botorch_private.audit.latent_classes import latent_class_attack
from botorch_private.audit.noise import noise_audit
from botorch_private.audit.one_run import one_run_audit
from botorch_private.audit.order import OrderResult, order_audit
from botorch_private.audit.outcome_answers import answers_audit
from botorch_private.audit.reconstruction import Reconstruction
from botorch_private.audit.registration import guess, registration_attack
from botorch_private.audit.repeats import RepeatsResult, repeats_audit
from botorch_private.audit.response import response_audit
from botorch_private.audit.result import AuditResult
from botorch_private.audit.same_noise import Replay, replay

__all__ = [
    "AuditResult",
    "Check",
    "Findings",
    "OrderResult",
    "Reconstruction",
    "RepeatsResult",
    "Replay",
    "answers_audit",
    "certified_epsilon",
    "clipping_audit",
    "empirical_epsilon",
    "guarantee_audit",
    "guess",
    "known_sample_attack",
    "latent_class_attack",
    "noise_audit",
    "one_run_audit",
    "order_audit",
    "registration_attack",
    "repeats_audit",
    "replay",
    "response_audit",
]
