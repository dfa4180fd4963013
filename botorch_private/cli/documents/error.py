"""ErrorDocument: why a command failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from botorch_private.cli.documents.document import Document


@dataclass(frozen=True)
class ErrorDocument(Document):
    """Printed in place of the other document where a command fails."""

    FORMAT: ClassVar[str] = "error"
    command: Annotated[str, "what failed"]
    exit_status: Annotated[int, "of the command, never 0"]
    message: Annotated[str, "why, as the standard error has it"]
