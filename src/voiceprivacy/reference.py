"""What isolation reaches without a voice: the conditional reference and the exact chance level."""

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream

VALUES_AT_ONCE = 2**21  # simulated scores held at a time


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
    log = np.where(n > 1, (n - 1) * np.log1p(-1 / np.where(n > 1, n, 2.0)), 0.0)
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


def midpoint_chance_limit(n_calibration: float) -> float:
    """Return the chance level of large blocks when the threshold is the midpoint of two ranks.

    P_0 counts ranks, and the midpoint of the M-th and the (M+1)-th highest calibration score is no
    rank. For scores with an exponential tail the number of test scores above it is Poisson with
    mean sqrt(G_M G_{M+1}) / M, G_k being the time of the k-th event of a Poisson process of rate
    one; what is returned is the probability that this number is one.

    Parameters
    ----------
    n_calibration
        M >= 1, calibration conversations a speaker.

    Notes
    -----
    Gaussian scores come close to it only slowly (like 1 / log n), from above.

    Examples
    --------
    >>> [round(midpoint_chance_limit(m), 4) for m in (1, 9)]
    [0.2726, 0.3496]
    """
    m = n_calibration
    # G_M / G_{M+1} is Beta(M, 1) and independent of G_{M+1}, which is Gamma(M + 1); v is its root.
    return quad(lambda v: 2 * (m + 1) * v ** (2 * m) / (1 + v / m) ** (m + 2), 0, 1)[0]


def simulated_chance_level(
    block_size: int,
    n_calibration: int = 9,
    *,
    correlation: float = 0.0,
    shared_by_test: bool = True,
    trials: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Play the protocol with scores that say nothing about the target, and count isolations.

    Parameters
    ----------
    block_size
        n >= 2, speakers in the block.
    n_calibration
        M >= 1, calibration scores a speaker; the threshold is the midpoint of the M-th and the
        (M+1)-th highest of all n M.
    correlation
        Correlation of two calibration scores of one speaker, in [0, 1]: how much of a score is
        the speaker's own, such as a voice that is close to everybody.
    shared_by_test
        Whether the speaker's test score has that part too. Overlapping calibration conversations
        resemble each other more than the test conversation: there it does not.
    trials
        Blocks to play.
    seed
        Seed of the Gaussian scores.

    Returns
    -------
    level, standard_error
        The fraction of trials in which exactly one test score lies above the threshold, and the
        binomial standard error of that fraction.

    Raises
    ------
    VoicePrivacyError
        If an argument is out of its range.

    Examples
    --------
    >>> level, error = simulated_chance_level(10, 9, trials=4000)
    >>> bool(abs(level - chance_level(10, 9)) < 3 * error)
    True
    """
    if block_size < 2 or n_calibration < 1 or trials < 1 or not 0 <= correlation <= 1:
        raise VoicePrivacyError(
            f"cannot simulate n = {block_size}, M = {n_calibration}, correlation {correlation}, "
            f"{trials} trials; expected n >= 2, M >= 1, a correlation from 0 to 1, trials >= 1."
        )
    rng = stream(seed, "chance level", block_size, n_calibration)
    at_once = max(1, VALUES_AT_ONCE // (block_size * n_calibration))
    isolated = sum(
        _isolations(
            rng,
            (min(at_once, trials - done), block_size, n_calibration),
            np.float32(correlation),
            shared_by_test,
        )
        for done in range(0, trials, at_once)
    )
    level = isolated / trials
    return level, float(np.sqrt(level * (1 - level) / trials))


def _isolations(
    rng: np.random.Generator, shape: tuple[int, int, int], correlation: float, shared: bool
) -> int:
    """Count isolations in some trials; `shape` is (trials, n, M)."""

    def scores(own: np.ndarray) -> np.ndarray:
        noise = rng.standard_normal((*shape[:2], own.shape[-1]), np.float32)
        return np.sqrt(correlation) * own + np.sqrt(1 - correlation) * noise

    trials, n, m = shape
    speakers = rng.standard_normal((trials, n, 1), np.float32)
    others = speakers if shared else rng.standard_normal((trials, n, 1), np.float32)
    calibration = scores(np.repeat(speakers, m, axis=2)).reshape(trials, n * m)
    highest = np.partition(calibration, (n * m - m - 1, n * m - m), axis=1)
    threshold = highest[:, n * m - m - 1 : n * m - m + 1].mean(axis=1, keepdims=True)
    return int(((scores(others)[..., 0] > threshold).sum(axis=1) == 1).sum())
