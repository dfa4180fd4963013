"""Singapore property: find the place where a square metre is cheapest, among 2,004 projects.

The declared ranges are the area of use that the EPSG registry publishes for Singapore's survey grid
(EPSG:3414, SVY21, onshore and offshore): 103.59 to 104.07 degrees east, 1.13 to 1.47 degrees north.
"""

from __future__ import annotations

import numpy as np

from botorch_private.datasets._files import read
from botorch_private.datasets.dataset import Dataset, Range, assemble

_RANGES = {
    "longitude": Range(103.59, 104.07, "Singapore from west to east: area of use of EPSG:3414"),
    "latitude": Range(1.13, 1.47, "Singapore from south to north: area of use of EPSG:3414"),
}


def property_prices() -> Dataset:
    """Return 2,004 Singapore residential projects: longitude, latitude, and minus log price.

    Each record is the location of one project. The outcome is minus the natural logarithm of its
    mean price in S$ per square metre, as Kharkovskii et al. (2020) minimise the price. The prices
    are project means of 2016 to 2021, so they are smoother than the single flats of the paper. The
    tensors are fresh on every call.

    Raises:
        RuntimeError: If the data file is damaged.
    """
    arrays, provenance = read("property_prices")
    return assemble(
        provenance,
        records=arrays["records"],
        outcomes=-np.log(arrays["price_per_m2"]),
        ranges=_RANGES,
    )
