"""PrivateProjectionTransform: a BoTorch input transform from records to their released rows."""

from __future__ import annotations

import hashlib
import pickle
import secrets
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch
from botorch.models.transforms.input import InputTransform
from torch import Tensor
from torch.nn import Module
from torch.nn.modules.module import register_module_module_registration_hook

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.record_index import RecordIndex
from botorch_private.curator.column_models import refuse_models_of_columns
from botorch_private.curator.existing_release import check_declared, published_earlier
from botorch_private.curator.features.range_fit import warn_of_fit
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms.base import Mechanism
from botorch_private.curator.publish import (
    Domain,
    Published,
    check_parts,
    planned_guarantee,
    publish,
    ranges_of,
)
from botorch_private.exchange.release import Release
from botorch_private.privacy.warnings import PrivacyLeakWarning

_POSITIONS_SHOWN = 5
_MAP_TOLERANCE = 1e-9
_AGAIN = (
    "a PrivateProjectionTransform of these records was built before in this process: a second one "
    "releases them again, with other noise, and the privacy that both cost adds up. Give the first to "
    "all models, build one of its release by PrivateProjectionTransform.from_release, or give both a "
    "ledger"
)
_KEY = secrets.token_bytes(32)
_RELEASED: set[bytes] = set()  # tables that transforms of this process released, by keyed hash


def _table_id(table: Tensor) -> bytes:
    numbers = table.contiguous().numpy()
    return hashlib.blake2b(numbers.data, key=_KEY, person=str(table.shape[1]).encode()[:16]).digest()


class PrivateProjectionTransform(InputTransform, Module):
    """Replace each record by its released row, inside any BoTorch model.

    The table is released once, at construction. `transform` then looks rows up among the records by
    exact value: the noise belongs to the record, so the same record always gives the same row. With
    a mechanism that is a map (`SpectralProjection` on records of full column rank) any row is
    mapped. Equal records are one record here: they get the released row of the first of them. So a
    model on records is not a function of the release alone, and stays with the curator, as does a
    ``Normalize`` that learned its bounds from them; what may leave is ``transform.release``.

    The raw records stay out of ``state_dict`` and ``repr``, deep copies share them, and pickling is
    refused: save ``transform.release``, or the model's ``state_dict``.

    A transform is built once, and given to every model that is built: a second one on the same records
    is another release, whose privacy adds up. That is what happens where a host builds transforms from
    their class, as Ax does at each fit for ``input_transform_classes``. Without a ledger, which would
    count, it warns. `from_release` builds a transform of a release that exists, which costs nothing.

    Models that say something about columns are refused when the transform is attached to them: models of
    categories, fidelities and tasks, and, where columns are mixtures, kernels of some columns
    (``active_dims``).

    Args:
        records: ``n x d`` raw records: tensor, array or data frame; ``n >= 2``.
        scaling: Declared ranges of the features.
        mechanism: How rows are released.
        ledger: Where the release is entered, one for each table; it can have a budget. None: nobody
            keeps count of other releases of the same records.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Warns:
        ClippedRecordsWarning: If many records lie outside of a declared range; before the release.
        PrivacyLeakWarning: If ranges seem to come from the table: likewise.
        PrivacyLeakWarning: If such a transform was built of equal records before, in this process, and
            there is no ledger.

    Attributes:
        release: The `Release`, whose rows are in a random order.
        permutation: Released row -> record, ``n`` integers; for the curator's eyes only.
        transform_on_train: True; together with the next two it must stay True, since raw and
            released rows differ in width.
        transform_on_eval: True.
        transform_on_fantasize: True.

    Example:
        >>> transform = PrivateProjectionTransform(records, scaling=scaling, mechanism=mechanism)
        >>> model = SingleTaskGP(
        ...     records[:5],
        ...     outcomes[:5, None],
        ...     input_transform=transform,
        ...     covar_module=ReleasedInputKernel.of(transform.release),
        ... )
    """

    is_one_to_many: bool = False
    release_sha256: Tensor

    @on_cpu_by_default
    def __init__(
        self,
        records: Any,
        scaling: Domain | None,
        mechanism: Mechanism,
        *,
        ledger: Ledger | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        scaling = check_parts(scaling, mechanism)
        # All that can fail without a release comes before it. The caller may change the table.
        table = scaling.check(records, minimum_rows=2).clone()
        warn_of_fit(table, ranges_of(scaling), stacklevel=3)
        validate.generator(generator=generator)
        planned = planned_guarantee(len(table), scaling, mechanism, seeded=generator is not None)
        table_id = _table_id(table)
        if ledger is None and planned.holds and table_id in _RELEASED:
            warnings.warn(_AGAIN, PrivacyLeakWarning, stacklevel=3)
        self._begin(table, publish(table, scaling, mechanism, ledger=ledger, generator=generator))
        if planned.holds:
            _RELEASED.add(table_id)

    def _begin(self, table: Tensor, published: Published) -> None:
        super().__init__()
        self.transform_on_train = True
        self.transform_on_eval = True
        self.transform_on_fantasize = True
        self._secret = _Secret(table, published)
        digest = bytes.fromhex(self.release.identity)
        sha256 = torch.tensor(list(digest), dtype=torch.uint8, device="cpu")
        self.register_buffer("release_sha256", sha256)

    @classmethod
    @on_cpu_by_default
    def from_release(
        cls, release: Release, records: Any, scaling: Domain, permutation: Any
    ) -> PrivateProjectionTransform:
        """Transform of a release that exists, of a `Curator` or an earlier transform: it costs nothing.

        It looks records up, also where the mechanism was a map of any row.

        Args:
            release: What was released, as it was or from its file.
            records: The ``n x d`` raw records that were released, in their order.
            scaling: That of the release; for labels its `Cells`.
            permutation: ``curator.permutation`` or ``transform.permutation``: released row -> record.

        Raises:
            TypeError: If the release is none as a curator made it.
            ValueError: If records, scaling or order are not those of the release, as far as the release
                shows it: by its numbers of records and features, its unit, names and radius, and, where
                the noise leaves enough to see, by distances between rows.

        Example:
            >>> transform = PrivateProjectionTransform.from_release(
            ...     curator.release, records, scaling, curator.permutation
            ... )
        """
        check_declared(release, scaling)
        table = scaling.check(records, minimum_rows=2).clone()
        transform = cls.__new__(cls)
        transform._begin(table, published_earlier(release, table, scaling, permutation))
        return transform

    @property
    def release(self) -> Release:
        """The release, made once."""
        return self._secret.published.release

    @property
    def permutation(self) -> Tensor:
        """Released row -> record, ``n`` integers. For the curator's eyes only."""
        return self._secret.published.permutation.clone()

    @property
    def released_rows(self) -> Tensor:
        """``n x r`` released rows in the order of the records. For the curator's eyes only."""
        return self._secret.rows(self._secret.row_of_record)

    @on_cpu_by_default
    def transform(self, X: Tensor) -> Tensor:
        """Map records to released rows.

        Args:
            X: ``batch_shape x q x d`` raw records. float32 is answered where its values are exactly
                those of the records.

        Returns:
            ``batch_shape x q x r`` tensor of the dtype and on the device of ``X``.

        Raises:
            ValueError: If a row is no record (naming its position), the width is wrong, or ``X`` is
                to be differentiated.
        """
        with _no_attribute_error():
            return self._secret(X)

    def forward(self, X: Tensor) -> Tensor:
        """As in BoTorch: `transform`, in every mode."""
        with _no_attribute_error():  # whatever a subclass does in `transform`
            if not (self.transform_on_train and self.transform_on_eval and self.transform_on_fantasize):
                raise ValueError(
                    "transform_on_train, transform_on_eval and transform_on_fantasize must stay True: "
                    "raw records and released rows must never meet in one model"
                )
            return super().forward(X)

    def untransform(self, X: Tensor) -> Tensor:
        """Refused: it would undo the release."""
        raise NotImplementedError(
            "PrivateProjectionTransform has no untransform: it would undo the release"
        )

    def equals(self, other: InputTransform) -> bool:
        """Whether ``other`` maps the same records to the rows of the same release."""
        return isinstance(other, PrivateProjectionTransform) and self._secret.equals(other._secret)

    def extra_repr(self) -> str:
        """Shapes and settings, no values."""
        return repr(self.release)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        saved = state_dict.get(f"{prefix}release_sha256")
        if saved is not None and not torch.equal(saved.cpu(), self.release_sha256.cpu()):
            error_msgs.append(
                f"{prefix}release_sha256: the state_dict belongs to another release of the records; "
                f"build the model with the transform that made it"
            )
            return
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def _refuse_at_attachment(model: Module, name: str, part: Module) -> None:
    """Before a transform becomes a model's, or a kernel does that of a model with a transform.

    An input transform is not told what model it belongs to. PyTorch is, and calls this with both.
    """
    if name not in ("input_transform", "covar_module"):
        return
    transform = part if name == "input_transform" else model._modules.get("input_transform")
    for each in () if transform is None else transform.modules():
        if isinstance(each, PrivateProjectionTransform):
            refuse_models_of_columns(model if part is transform else part, each.release.isotropic)


register_module_module_registration_hook(_refuse_at_attachment)


@contextmanager
def _no_attribute_error():
    # BoTorch takes an AttributeError for "no transform" and would go on with raw inputs.
    try:
        yield
    except AttributeError as error:
        raise RuntimeError(f"PrivateProjectionTransform failed: {error}") from error


class _Secret:
    """The records and their released rows, out of reach of `Module.to` and of serialization."""

    def __init__(self, table: Tensor, published: Published) -> None:
        self.published, self._scaling = published, published.scaling
        self.row_of_record = published.rows_of_records
        self._features = published.scaling.features
        self._records = table
        self._index = RecordIndex(table.numpy())
        row_map = self.published.row_map
        if row_map is not None:
            # An almost dependent column makes the map useless in floating point: look up instead.
            rows = self.rows(self.row_of_record)
            assert isinstance(self._scaling, PublicScaling)
            error = (row_map(self._scaling.scale_tensor(table)) - rows).abs().max()
            if error > _MAP_TOLERANCE * rows.abs().max():
                row_map = None
        self._row_map = row_map

    def __call__(self, X: Tensor) -> Tensor:
        if not isinstance(X, Tensor) or X.ndim < 2 or not X.is_floating_point():
            kind = f"{X.dtype} tensor of shape {tuple(X.shape)}" if isinstance(X, Tensor) else type(X)
            raise ValueError(f"X must be a batch_shape x q x d floating-point tensor, got a {kind}")
        if X.shape[-1] != self._features:
            raise ValueError(f"X must have {self._features} columns, got {X.shape[-1]}")
        return self._look_up(X) if self._row_map is None else self._map(X, self._row_map)

    def rows(self, released: Tensor) -> Tensor:
        return self.published.release.candidates.index_select(0, released)

    def equals(self, other: _Secret) -> bool:
        return self is other or (
            self.published.release.identity == other.published.release.identity
            and torch.equal(self._records, other._records)
        )

    def _look_up(self, X: Tensor) -> Tensor:
        if X.requires_grad:
            raise ValueError(
                "X must not require gradients: only records have released rows, so optimize over "
                "them with optimize_acqf_discrete(choices=records) or DiscreteUCB.select"
            )
        rows = X.reshape(-1, X.shape[-1]).to(device="cpu", dtype=torch.float64).numpy()
        found = self._index.find(rows)
        if (found < 0).any():
            raise ValueError(self._not_records(found, X))
        released = self.rows(self.row_of_record[torch.from_numpy(found)]).to(X)
        return released.reshape(*X.shape[:-1], released.shape[-1])

    def _map(self, X: Tensor, row_map: Callable[[Tensor], Tensor]) -> Tensor:
        bad = ~torch.isfinite(X).all(dim=-1)
        if bad.any():
            first = tuple(int(i) for i in bad.nonzero()[0])
            raise ValueError(f"X must be finite, got a missing or infinite value at position {first}")
        assert isinstance(self._scaling, PublicScaling)
        return row_map(self._scaling.scale_tensor(X.to(torch.float64))).to(X)

    @staticmethod
    def _not_records(found, X: Tensor) -> str:
        missing = torch.from_numpy(found < 0).reshape(X.shape[:-1]).nonzero()
        shown = ", ".join(
            str(tuple(p) if len(p) > 1 else p[0]) for p in missing[:_POSITIONS_SHOWN].tolist()
        )
        more = f" and {len(missing) - _POSITIONS_SHOWN} more" if len(missing) > _POSITIONS_SHOWN else ""
        message = f"X must hold records only, but these positions are not records: {shown}{more}"
        if X.dtype != torch.float64:
            return f"{message}: {X.dtype} values rarely equal the float64 records, pass X as float64"
        return (
            f"{message}: only records have released rows (exact values, no rounding in between), so "
            f"optimize over them with optimize_acqf_discrete(choices=records), not with optimize_acqf"
        )

    def __deepcopy__(self, memo: dict) -> _Secret:
        return self

    def __copy__(self) -> _Secret:
        return self

    def __reduce_ex__(self, protocol: Any):
        raise pickle.PicklingError(
            "a model with a PrivateProjectionTransform holds raw records and is not pickled: save "
            "transform.release with Release.save, and the model's state_dict"
        )

    def __repr__(self) -> str:
        return "<records and released rows, not shown>"
