"""SUPPORT2: find the costliest stay among 8,126 seriously ill hospital patients.

The declared ranges come from definitions and published clinical scores, not from the table. For
vital signs, sodium and pH they are the outermost categories of APACHE III (Knaus et al. 1991). That
score does not tell patients apart beyond them, so clipping loses nothing that it would have used.
Where its categories are too narrow for patients this ill, the next published or physiological limit
is taken. The table is public, and its summaries were known when the ranges were written; a curator
of private records must write the ranges down before looking at the records.

Sources: Knaus et al. (1985), APACHE II, Critical Care Medicine 13, 818-829; Knaus et al. (1991),
APACHE III, Chest 100, 1619-1636; Vincent et al. (1996), SOFA, Intensive Care Medicine 22, 707-710.
"""

from __future__ import annotations

import numpy as np

from botorch_private.datasets._files import read
from botorch_private.datasets.dataset import Dataset, Range, assemble

_YES_NO = Range(0, 1, "0 is no and 1 is yes, by definition")

_RANGES = {
    "age": Range(18, 100, "the study enrolled adults; few people live beyond 100 years"),
    "num.co": Range(0, 6, "a count; six chronic illnesses at once is an extreme burden already"),
    "diabetes": _YES_NO,
    "dementia": _YES_NO,
    "scoma": Range(0, 100, "the score runs from 0 to 100 by definition"),
    "avtisst": Range(0, 60, "intensive care averages about 30 TISS points a day; 60 is twice that"),
    "hday": Range(1, 30, "day 1 is the day of admission; a month in hospital is a very long stay"),
    "meanbp": Range(40, 140, "APACHE III: worst categories are below 40 and from 140 mmHg"),
    "wblc": Range(0, 40, "0 is no white cells; APACHE II: worst category starts at 40"),
    "hrt": Range(40, 155, "APACHE III: worst categories are below 40 and from 155 a minute"),
    "resp": Range(5, 50, "APACHE III: worst categories are up to 5 and from 50 a minute"),
    "temp": Range(33, 40, "APACHE III: outermost categories are below 33 and from 40 °C"),
    "pafi": Range(50, 500, "50 calls for an artificial lung; healthy lungs on room air reach 500"),
    "alb": Range(1, 5, "normal is 3.5 to 5; 1 is extreme depletion"),
    "bili": Range(0, 12, "SOFA: worst liver category starts at 12 mg/dL"),
    "crea": Range(0, 8, "normal is about 1; at 8 the kidneys have failed and dialysis is usual"),
    "sod": Range(120, 155, "APACHE III: outermost categories are below 120 and from 155 mmol/L"),
    "ph": Range(7.2, 7.6, "APACHE III: outermost categories are below 7.20 and from 7.60"),
    "adlsc": Range(0, 7, "seven activities of daily living, by definition of the score"),
    "male": _YES_NO,
    "metastatic": _YES_NO,
    "cancer": _YES_NO,
}


def hospital() -> Dataset:
    """Return the SUPPORT2 table: 8,126 hospital stays, 22 features, log cost as the outcome.

    Each record is one patient's stay (Knaus et al. 1995): age, illnesses, and the vital signs and
    laboratory values of study day 3. The outcome is the natural logarithm of the stay's total cost
    in US$, so the search is for the costliest stay. The tensors are fresh on every call.

    Raises:
        RuntimeError: If the data file is damaged.
    """
    arrays, provenance = read("hospital")
    cost = arrays["total_cost"].astype(np.float64)
    return assemble(provenance, records=arrays["records"], outcomes=np.log(cost), ranges=_RANGES)
