"""Models of the modeler: released rows and observations in, a posterior out."""

from botorch_private.models.build import make_model
from botorch_private.models.kernel import ReleasedInputKernel

__all__ = ["ReleasedInputKernel", "make_model"]
