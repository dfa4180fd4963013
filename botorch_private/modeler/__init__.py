"""The modeler's side: sees a release, asks for rows, is told numbers."""

from botorch_private.modeler.client import RemoteCurator
from botorch_private.modeler.modeler import Modeler
from botorch_private.modeler.transport import RemoteError

__all__ = ["Modeler", "RemoteCurator", "RemoteError"]
