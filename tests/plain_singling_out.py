"""Singling out written as the definitions read, slowly: what the compiled engine must equal."""

import numpy as np


def plain_evaluation(test, calibration, candidates, own, shares_level):
    """One evaluation: (isolated, block size, threshold).

    `test[s]` is a score, `calibration[s]` a list of scores; `candidates` is S_N, `own` the
    target, `shares_level(s)` whether s shares the target's disclosed side information.
    """
    block = [s for s in candidates if shares_level(s)]
    if len(block) == 1:
        return True, 1, -np.inf
    m = len(calibration[own])
    scores = sorted((float(x) for s in block for x in calibration[s]), reverse=True)
    threshold = (scores[m - 1] + scores[m]) / 2
    matches = [s for s in block if float(test[s]) > threshold]
    return len(matches) == 1, len(block), threshold
