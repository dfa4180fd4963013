"""Release: the only object that crosses from the curator to the modeler, and its file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.file_kind import HEAD
from botorch_private._base.file_name import utf8_name
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.exchange.cell_space import CellSpace
from botorch_private.exchange.named_outcomes import outcome_names
from botorch_private.exchange.release_digest import release_digest
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.rounding import round_up

_NAME, _WANTED = "botorch-private release", "a whole release file, as Release.save writes it"
FIRST_FORMAT = FileFormat(_NAME, 1, _WANTED)  # written where its programs can read what is in it
FORMAT = FileFormat(_NAME, 2, _WANTED)  # of labels, l2 noise, several outcomes; it reads the first too
LABEL_COLUMNS = 2  # of a release of labels: the label, and the number of the row
_LEAST_SHARE = 0.01
_CHUNK_ROWS = 2**18
_SETTINGS = ("isotropic", "noise_dim", "noise_variance")
_GUARANTEES = ("guarantee", "outcome_guarantee")


@dataclass(frozen=True, eq=False)
class Release:
    """Released rows with public metadata: nothing else of the table.

    Args:
        candidates: ``n x r`` float64 released rows, in a random order that only the curator knows.
        guarantee: What is promised about them.
        noise_variance: Variance of the noise along each direction that carries it, in squared
            units; public, and the modeler's kernel uses it. One number; a `DenoisedRelease` has one
            for each column.
        noise_dim: Number of directions that carry noise.
        isotropic: Whether a kernel on the rows must have one length-scale, because they were
            rotated or projected.
        outcome_guarantee: What is promised about the answers to come; None where outcomes are answered
            as they are.
        cells: How the cells lie to each other, where rows are labels: ``n x 2`` candidates are the
            label and the number of the row. None: rows are noisy records.
        outcome_names: Names of the outcomes, where a record has several; empty where it has one.

    Example:
        >>> release = Curator(records, scaling, NoisyProjection(1.0), outcomes).release
        >>> release.save("table.safetensors")
        >>> Release.load("table.safetensors").candidates.shape == release.candidates.shape
        True
    """

    candidates: Tensor
    guarantee: PrivacyGuarantee
    noise_variance: float | tuple[float, ...]
    noise_dim: int
    isotropic: bool
    outcome_guarantee: PrivacyGuarantee | None = None
    cells: CellSpace | None = None
    outcome_names: tuple[str, ...] = ()

    @on_cpu_by_default
    def __post_init__(self) -> None:
        rows = validate.matrix(candidates=self.candidates, minimum_rows=2)
        validate.non_negative(noise_variance=self.noise_variance)
        validate.count(noise_dim=self.noise_dim)
        # Whatever came, a mechanism's NumPy numbers among it: what a file can hold.
        plain = {"candidates": rows, "noise_variance": float(self.noise_variance)}  # type: ignore[arg-type]
        plain |= {"noise_dim": int(self.noise_dim), "isotropic": bool(self.isotropic)}
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.outcome_names:
            names = outcome_names(outcome_names=self.outcome_names)
            object.__setattr__(self, "outcome_names", names)
            promised = self.outcome_guarantee
            if promised is not None and promised.outcome_names != names:
                raise ValueError(
                    "outcome_guarantee must be about the outcomes of outcome_names, in order"
                )
        if self.cells is not None:
            _require_labels(rows, self.cells)

    @classmethod
    def of_labels(
        cls,
        labels: Tensor,
        cells: CellSpace,
        guarantee: PrivacyGuarantee,
        *,
        outcome_guarantee: PrivacyGuarantee | None = None,
        outcome_names: tuple[str, ...] = (),
    ) -> Release:
        """Release of ``n`` labels, in a random order that only the curator knows."""
        rows = torch.empty(len(labels), LABEL_COLUMNS, dtype=torch.float64)
        rows[:, 0] = labels
        torch.arange(len(labels), out=rows[:, 1])
        return cls(rows, guarantee, 0.0, 1, True, outcome_guarantee, cells, outcome_names)

    def of_outcome(self, name: str) -> Release:
        """The same rows, with what is public of one of several outcomes: for a model of that alone.

        Args:
            name: One of `outcome_names`.

        Raises:
            ValueError: If it is none.
        """
        if name not in self.outcome_names:
            known = ", ".join(self.outcome_names) or "none, since records have one outcome"
            raise ValueError(f"name must be one of the release's outcomes: {known}")
        promised = self.outcome_guarantee
        own = None if promised is None else promised.of_outcome(name)
        return replace(self, outcome_guarantee=own, outcome_names=())

    @property
    def labels(self) -> Tensor | None:
        """Label of each row, ``n`` whole numbers; None where rows are noisy records."""
        return None if self.cells is None else self.candidates[:, 0].long()

    @property
    def identity(self) -> str:
        """SHA-256 of the rows and the public settings, as 64 hexadecimal digits."""
        return _digest(self._format, self.candidates, self._settings())

    def rows_digest(self, count: int | None = None) -> str:
        """SHA-256 of the first rows alone, as 64 hexadecimal digits: what a release that grew keeps.

        Args:
            count: How many rows; None: all.
        """
        rows = self.candidates if count is None else self.candidates[:count]
        return release_digest(0, str(rows.dtype), rows.shape, "", [_bytes(rows)])

    def begins_with(self, earlier: Release) -> bool:
        """Whether the rows of an earlier release are the first of this one, bit for bit."""
        count = len(earlier.candidates)
        return count <= len(self.candidates) and self.rows_digest(count) == earlier.rows_digest()

    def refuse_labels(self, instead: str) -> None:
        """Refuse labels of cells where rows must be noisy records; ``instead`` says what to do."""
        if self.cells is not None:
            raise ValueError(f"release must be one of noisy records, got labels of cells: {instead}")

    @cached_property
    def label_counts(self) -> Tensor:
        """How often each of ``K`` labels occurs, where rows are labels."""
        assert self.cells is not None
        assert self.labels is not None
        return torch.bincount(self.labels, minlength=self.cells.count)

    @cached_property
    def spread(self) -> float:
        """Root mean square distance of the true inputs from their mean, judged from the noisy rows."""
        noisy = float((self.candidates - self.candidates.mean(dim=0)).square().sum(dim=1).mean())
        if noisy == 0:
            return 1.0
        assert not isinstance(self.noise_variance, tuple)
        # Where noise drowns the inputs the difference is unreliable: a share of the total is kept.
        return math.sqrt(max(noisy - self.noise_dim * self.noise_variance, _LEAST_SHARE * noisy))

    @property
    def outcome_variance(self) -> float:
        """Variance of the noise on an answer, in squared units of the outcome; 0 without such noise.

        Public: a model of the answers should know it (`make_model` does).
        """
        promise = self.outcome_guarantee
        if promise is None:
            return 0.0
        if self.outcome_names:
            raise ValueError("release must be about one outcome here: take release.of_outcome(name)")
        one = promise.parts[0] if promise.parts else promise
        assert isinstance(one.law, NoiseLaw)
        assert one.outcome_range is not None
        low, high = one.outcome_range
        return one.law.variance * (high - low) ** 2

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file: the rows, the public settings, and a digest of both.

        The file appears whole or not at all. No pickle is involved.
        """
        settings = self._settings()
        metadata = {name: str(value) for name, value in self._format.header.items()}
        metadata |= {"settings": settings, "sha256": _digest(self._format, self.candidates, settings)}
        content = save({"candidates": self.candidates.contiguous()}, metadata=metadata)
        write_whole(Path(path), content)

    @classmethod
    @on_cpu_by_default
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a file written by `save`.

        The digest catches damage, not forgery: send the file over a channel that you trust.

        Raises:
            ValueError: If the file is not a release, is truncated or altered, or comes from a newer
                version.
            FileNotFoundError: If there is no such file.
        """
        path = Path(path)
        if path.is_dir():
            raise IsADirectoryError(
                f"path must be a release file, but {path} is a folder: name a file in it"
            )
        if not path.is_file():
            raise FileNotFoundError(f"path must be a release file, but there is no file {path}")
        candidates, metadata, version = None, {}, 0
        try:
            with utf8_name(path) as name, safe_open(name, framework="pt") as file:
                metadata = file.metadata() or {}
                version = FORMAT.require(metadata, path)
                # safetensors maps the file: without a copy, rows would change along with it.
                candidates = file.get_tensor("candidates").clone()
        except SafetensorError:
            pass
        if candidates is None:
            # Outside of the handler: what safetensors says of a file may be a piece of it.
            with path.open("rb") as file:
                raise FORMAT.unreadable(file.read(HEAD), path)
        settings = metadata.get("settings", "")
        written = FORMAT if version == FORMAT.version else FIRST_FORMAT
        if _digest(written, candidates, settings) != metadata.get("sha256"):
            raise FORMAT.refusal(path, "was changed after saving")
        return cls(candidates=candidates, **settings_from(settings))

    @property
    def _format(self) -> FileFormat:
        return format_of(vars(self))

    def __repr__(self) -> str:
        n, r = self.candidates.shape
        g = self.guarantee
        what = f"projection_dim={r}" if self.cells is None else f"cells={self.cells.count}"
        return (
            f"{type(self).__name__}(n={n}, {what}, epsilon={round_up(g.epsilon)}, "
            f"delta={round_up(g.delta, 2)}, "
            f"holds={g.holds})"
        )

    def _settings(self) -> str:
        names = (*_SETTINGS, *_GUARANTEES, "cells", "outcome_names")
        return settings_text({name: getattr(self, name) for name in names})


def format_of(values: Mapping[str, Any]) -> FileFormat:
    """The oldest format that can say these arguments of `Release`."""
    promises = (values["guarantee"], values.get("outcome_guarantee"))
    known = all(promise is None or promise.known_at_first for promise in promises)
    known &= values.get("cells") is None and not values.get("outcome_names")
    return FIRST_FORMAT if known else FORMAT


def settings_text(values: Mapping[str, Any]) -> str:
    """The public settings of a release as JSON: the arguments of `Release` beside the rows."""
    plain = {name: values[name] for name in _SETTINGS}
    for name in _GUARANTEES:
        promise = values.get(name)
        plain[name] = None if promise is None else promise.to_json()
    if values.get("cells") is not None:
        plain["cells"] = values["cells"].to_json()
    if values.get("outcome_names"):
        plain["outcome_names"] = list(values["outcome_names"])
    return json.dumps(plain, sort_keys=True)


def settings_from(text: str) -> dict[str, Any]:
    """What `settings_text` wrote, to be passed to `Release` with the rows."""
    values = json.loads(text)
    for name in _GUARANTEES:
        if values.get(name) is not None:
            values[name] = PrivacyGuarantee.from_json(values[name])
    if values.get("cells") is not None:
        values["cells"] = CellSpace.from_json(values["cells"])
    values["outcome_names"] = tuple(values.get("outcome_names", ()))
    return values


def _digest(written: FileFormat, candidates: Tensor, settings: str) -> str:
    rows, dtype = [_bytes(candidates)], str(candidates.dtype)
    return release_digest(written.version, dtype, candidates.shape, settings, rows)


def _bytes(candidates: Tensor) -> memoryview:
    return candidates.detach().cpu().contiguous().view(torch.uint8).numpy().data


def _require_labels(rows: Tensor, cells: CellSpace) -> None:
    if rows.shape[1] != LABEL_COLUMNS or not _numbered(rows[:, 1]):
        raise ValueError("candidates of cells must be n x 2: labels, and the numbers of the rows")
    for labels in rows[:, 0].split(_CHUNK_ROWS):
        if not torch.equal(labels, labels.round()) or labels.min() < 0 or labels.max() >= cells.count:
            raise ValueError(f"candidates of cells must have labels in 0..{cells.count - 1}")


def _numbered(numbers: Tensor) -> bool:
    """Whether these are 0, 1, ..."""
    start = 0
    for some in numbers.split(_CHUNK_ROWS):
        if not torch.equal(some, torch.arange(start, start + len(some), dtype=some.dtype)):
            return False
        start += len(some)
    return True
