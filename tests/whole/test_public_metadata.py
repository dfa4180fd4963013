"""Two tables with the same public facts give the same metadata, byte for byte, whatever the records are.

So no count, norm, rank or singular value of the records is in it: not how many were clipped, not how
many are equal, not which branch of Algorithm 1 was taken.
"""

import json
import struct

import pytest
import torch
from helpers.marked import listening, refusal

from botorch_private import (
    Curator,
    NoisyProjection,
    NoPrivacy,
    PrivateProjectionTransform,
    PublicScaling,
    SpectralProjection,
)
from botorch_private.theory.spectral import singular_value_floor

N, D = 24, 3
SCALING = PublicScaling([-1.0] * D, [1.0] * D, names=["age", "dose", "pulse"])
SPECTRAL = SpectralProjection(50.0, 0.5, 2)  # a floor low enough that a table can be above it
MECHANISMS = {
    "laplace": NoisyProjection(3.0),
    "gaussian": NoisyProjection(3.0, 1e-5, noise="gaussian"),
    "rotated": NoisyProjection(3.0, projection_dim=5),
    "projected": NoisyProjection(3.0, 1e-5, projection_dim=2),
    "algorithm 1": SPECTRAL,
    "no privacy": NoPrivacy(),
}
INSIDE = 2 * torch.rand(N, D, dtype=torch.float64, generator=torch.Generator().manual_seed(5)) - 1
TABLES = {
    "inside, all different": INSIDE,
    "tiny": INSIDE * 1e-9,
    "all clipped": INSIDE.sign() * 1e9,
    "a third clipped": torch.cat([INSIDE[: N // 3] * 100, INSIDE[N // 3 :]]),
    "equal": INSIDE[:1].repeat(N, 1),
    "two different ones": INSIDE[:2].repeat(N // 2, 1),
    "rank 1": INSIDE[:, :1] * torch.ones(D, dtype=torch.float64),
    "almost rank 1": INSIDE[:, :1] * torch.ones(D, dtype=torch.float64) + 1e-13 * INSIDE,
    "a constant column": INSIDE * torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64),
    "sorted": INSIDE.sort(dim=0).values,
}


FOR_THE_CURATOR = ("declared ranges may not fit", "ends of declared ranges are")


def shown_of(records, mechanism, folder, scaling=SCALING):
    """All that leaves with a release of a table, but for the rows and their digest."""
    with listening() as said:
        curator = Curator(records, scaling, mechanism, torch.zeros(N), max_queries=1)
        release = curator.release
        release.save(folder / "release")
        curator.query(0)
        transform = PrivateProjectionTransform(records, scaling, mechanism)
    content = (folder / "release").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    digest = header["__metadata__"].pop("sha256")
    said["log"] = [line for line, _ in said["log"]]  # without the time
    # What the curator alone is told, in its own process, does depend on the records.
    said["warnings"] = [each for each in said["warnings"] if not each.startswith(FOR_THE_CURATOR)]
    return {
        "sizes": [len(content), length, len(digest)],
        "header": json.dumps(header, sort_keys=True),  # safetensors writes them in any order
        "fields": repr([value for name, value in vars(release).items() if name != "candidates"]),
        "rows": [release.candidates.shape, release.candidates.dtype, release.candidates.stride()],
        "guarantee": str(curator.guarantee),
        "reprs": [repr(curator), repr(release), repr(transform), repr(scaling)],
        "state_dict": [(name, each.shape, each.dtype) for name, each in transform.state_dict().items()],
        "refusals": [
            str(refusal(wrong))
            for wrong in (
                lambda: curator.query(N),
                lambda: curator.query(1),
                lambda: curator.rerelease(),
                lambda: transform(records[0]),
                lambda: transform.untransform(records),
            )
        ],
        **said,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("table", list(TABLES)[1:])
def test_metadata_do_not_depend_on_the_records(table, mechanism, tmp_path):
    first = shown_of(TABLES["inside, all different"], mechanism, tmp_path)
    assert shown_of(TABLES[table], mechanism, tmp_path) == first


@pytest.mark.filterwarnings("ignore::botorch_private.PrivacyLeakWarning")
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_metadata_of_a_learned_scaling_do_not_show_what_was_learned(mechanism, tmp_path):
    shown = [
        shown_of(table, mechanism, tmp_path, PublicScaling.from_data(table))
        for table in (TABLES["inside, all different"], TABLES["a third clipped"], TABLES["rank 1"])
    ]
    assert shown[0] == shown[1] == shown[2]


def test_metadata_depend_on_public_facts_so_that_the_comparison_can_fail(tmp_path):
    first = shown_of(INSIDE, NoisyProjection(3.0), tmp_path)
    for scaling, mechanism in [
        (PublicScaling([-1.0] * D, [2.0] * D, names=SCALING.names), NoisyProjection(3.0)),
        (SCALING, NoisyProjection(3.1)),
    ]:
        other = shown_of(INSIDE, mechanism, tmp_path, scaling)
        assert {"header", "fields", "guarantee"} <= {
            name for name in first if first[name] != other[name]
        }


def test_the_tables_differ_in_what_must_not_show():
    """Both branches of Algorithm 1, all ranks, and all shares of clipped and of equal records."""
    scaled = {name: SCALING.transform(table) for name, table in TABLES.items()}
    least = {
        name: torch.linalg.svdvals(table - table.mean(dim=0))[-1].item()
        for name, table in scaled.items()
    }
    floor = singular_value_floor(SPECTRAL.epsilon, SPECTRAL.delta, SPECTRAL.projection_dim)
    assert least["inside, all different"] > floor
    assert least["tiny"] < floor
    ranks = {int(torch.linalg.matrix_rank(table - table[0])) for table in scaled.values()}
    assert ranks == {0, 1, 2, 3}
    assert {int(SCALING.clipped(table).sum()) for table in TABLES.values()} >= {0, N // 3, N}
    assert {len(table.unique(dim=0)) for table in TABLES.values()} >= {1, 2, N}
