"""Two small real tables that ship with the package, each with its provenance."""

from botorch_private.datasets.dataset import Dataset
from botorch_private.datasets.hospital import hospital
from botorch_private.datasets.property_prices import property_prices

__all__ = ["Dataset", "hospital", "property_prices"]
