"""Storage and network: a coefficient is the mean size of a flow's messages in bytes.

No regression is needed (the paper estimates them online): every window gives the mean size of what
passed. The estimate weighs windows by their messages; the interval is Student's t over windows,
with the variance of a ratio estimator, so that windows with few messages widen it little.

Reference: Bhola 2006, section III.B. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from weir.fitting.fit import CONFIDENCE, SPARE, Coefficient

if TYPE_CHECKING:
    import numpy.typing as npt

    from weir.fitting.case import Term


def fit_sizes(
    term: Term,
    *,
    size_bytes: npt.ArrayLike,
    messages: npt.ArrayLike,
    confidence: float = CONFIDENCE,
) -> Coefficient:
    """Bytes per message of one flow; entry t: mean size and number of messages of window t."""
    sizes = np.asarray(size_bytes, dtype=np.float64)
    counts = np.asarray(messages, dtype=np.float64)
    kept = counts > 0
    sizes, counts = sizes[kept], counts[kept]
    windows = len(counts)
    if not windows:
        return Coefficient(term=term, value=0.0, low=0.0, high=None, vif=None, identified=False)
    mean = float(np.average(sizes, weights=counts))
    if windows < SPARE:
        return Coefficient(term=term, value=mean, low=0.0, high=None, vif=1.0, identified=False)
    share = counts / counts.sum()
    variance = float(np.sum((share * (sizes - mean)) ** 2)) * windows / (windows - 1)
    width = float(stdtrit(windows - 1, 0.5 + confidence / 2)) * variance**0.5
    low = max(0.0, mean - width)
    return Coefficient(
        term=term,
        value=mean,
        low=low,
        high=mean + width,
        vif=1.0,
        identified=mean > 0 and mean + width - low <= mean,
    )
