"""Models of the modeler: released rows and observations in, a posterior out."""

from botorch_private.modeler.models.build import make_model
from botorch_private.modeler.models.fit import fit_model, log_density
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.posterior import DiscretePosterior

__all__ = ["DiscretePosterior", "ReleasedInputKernel", "fit_model", "log_density", "make_model"]
