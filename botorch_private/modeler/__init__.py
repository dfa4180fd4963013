"""The modeler's side: sees a release, asks for rows, is told numbers."""

from botorch_private.modeler.modeler import Modeler

__all__ = ["Modeler"]
