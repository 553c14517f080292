"""What isolation reaches without a voice: the conditional reference and the exact chance level."""

import numpy as np
from scipy.special import gammaln


def conditional_reference(block_size: np.ndarray | float) -> np.ndarray | float:
    """Return P_ref(n) = (1 - 1/n)^(n - 1), the reference for a block of n speakers.

    It is the probability that exactly one of n independent predicates of weight 1/n holds:
    1 at n = 1, 1/2 at n = 2, falling to 1/e (SI, Sec. III-C).

    Parameters
    ----------
    block_size
        n >= 1, any shape.

    Examples
    --------
    >>> conditional_reference(np.array([1, 2, 3])).round(4).tolist()
    [1.0, 0.5, 0.4444]
    """
    n = np.asarray(block_size, dtype=float)
    # Negative zero keeps 0 * -inf out of n = 1.
    log = np.where(n > 1, (n - 1) * np.log1p(-1 / np.maximum(n, 1.5)), 0.0)
    return np.exp(log)


def chance_level(
    block_size: np.ndarray | float, n_calibration: np.ndarray | float = 9
) -> np.ndarray | float:
    """Return P_0(n, M), what a useless attacker reaches with a calibrated threshold.

    With finitely many calibration scores the threshold is itself random. When the n test and n M
    calibration scores are exchangeable, exactly one test score lies above the M-th highest
    calibration score with probability M C(n(M+1)-M-1, nM-M) / C(n(M+1), nM). The (M+1)-th gives
    the same value; their midpoint, which the protocol takes, lies very close for M of 3 or more.

    Parameters
    ----------
    block_size
        n >= 1, any shape.
    n_calibration
        M >= 1, calibration conversations a speaker; broadcasts with `block_size`.

    Notes
    -----
    Beyond the papers, which compare with `conditional_reference`: that is the limit of many
    calibration conversations. For large n the level tends to (M/(M+1))^(M+1).

    Examples
    --------
    >>> chance_level(np.array([1, 2, 123])).round(4).tolist()
    [1.0, 0.4737, 0.3501]
    """
    n, m = np.asarray(block_size, dtype=float), np.asarray(n_calibration, dtype=float)
    # log C(n(M+1)-M-1, nM-M) - log C(n(M+1), nM), by log-gamma: the factorials are huge.
    log = (
        gammaln(n * (m + 1) - m)
        - gammaln(n * m - m + 1)
        - gammaln(n)
        - gammaln(n * (m + 1) + 1)
        + gammaln(n * m + 1)
        + gammaln(n + 1)
    )
    return np.where(n > 1, m * np.exp(log), 1.0)
