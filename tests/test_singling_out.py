"""The PSO engine against plain code, the authors' package, closed forms and limits."""

import itertools

import numba
import numpy as np
import pandas as pd
import pytest
from plain_singling_out import plain_evaluation
from scipy.stats import hypergeom

from voiceprivacy import _isolation_kernel as kernel
from voiceprivacy.candidates import Candidates
from voiceprivacy.conversations import by_speaker, draw_conversations
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream
from voiceprivacy.reference import chance_level, conditional_reference
from voiceprivacy.side_information import encode
from voiceprivacy.singling_out import isolate


def corpus(n_speakers, n_utterances, *, dimension=8, noise=1.0, seed=0, kind="a"):
    """Speakers with one direction each; `noise=0` makes every utterance of a speaker the same."""
    voices = np.random.default_rng(seed).normal(size=(n_speakers, dimension))
    rng = np.random.default_rng([seed, ord(kind)])
    shape = (n_speakers, n_utterances, dimension)
    vectors = voices[:, None] + noise * rng.normal(size=shape)
    speakers = np.repeat([f"s{i:05d}" for i in range(n_speakers)], n_utterances)
    utterances = np.array([f"{s}-{kind}{i:03d}" for i, s in enumerate(speakers)])
    return Embeddings(utterances, speakers, vectors.reshape(-1, dimension).astype(np.float32))


def geography(n_speakers, seed=0, areas=(2, 4, 8)):
    """Nested columns: every area of one level lies in one area of the level above."""
    finest = np.random.default_rng(seed).integers(areas[-1], size=n_speakers)
    columns = {f"level{j}": (finest * n // areas[-1]).astype(str) for j, n in enumerate(areas)}
    return pd.DataFrame(columns, index=[f"s{i:05d}" for i in range(n_speakers)])


def run_kernel(scores, start, order, codes, sizes):
    shape = (*order.shape[:2], len(sizes), codes.shape[1] + 1)
    isolated, block, threshold = np.empty(shape, bool), np.empty(shape, np.int32), np.empty(shape)
    own, column, sizes = order[:, 0, 0], np.arange(start[-1]), np.asarray(sizes)
    known = np.zeros((0, 0), bool), np.zeros(shape[:2], bool)
    depths = kernel.shared_depths(codes, own)
    kernel.count_blocks(order, depths, *known, sizes, block)
    kernel.stream(
        scores, column, start, kernel.highest_scores(scores, column, start), order, depths, *known,
        sizes, np.diff(start)[own] - 1, isolated, threshold,
    )  # fmt: skip
    return isolated, block, threshold


@pytest.mark.parametrize("ties", [False, True])
def test_kernel_equals_the_plain_definition(ties):
    rng = np.random.default_rng(1)
    n_speakers, n_targets, n_draws = 24, 6, 3
    counts = rng.integers(2, 6, n_speakers)  # one test, one to four calibration conversations
    start = np.concatenate([[0], np.cumsum(counts)])
    scores = rng.normal(size=(n_targets, start[-1])).astype(np.float32)
    if ties:
        scores = np.round(scores)
    codes, _ = encode(geography(n_speakers), np.array([f"s{i:05d}" for i in range(n_speakers)]))
    order = np.array(
        [
            [
                [t, *rng.permutation([s for s in range(n_speakers) if s != t])]
                for _ in range(n_draws)
            ]
            for t in range(n_targets)
        ],
        dtype=np.int32,
    )
    sizes = np.arange(1, n_speakers + 1)
    isolated, block, threshold = run_kernel(scores, start, order, codes, sizes)
    seen = set()
    for t, draw, k, level in np.ndindex(isolated.shape):
        test = {s: scores[t, start[s]] for s in range(n_speakers)}
        calibration = {s: scores[t, start[s] + 1 : start[s + 1]] for s in range(n_speakers)}
        expected = plain_evaluation(
            test,
            calibration,
            order[t, draw, : sizes[k]],
            t,
            lambda s, t=t, level=level: (codes[s, :level] == codes[t, :level]).all(),
        )
        here = (t, draw, k, level)
        assert (isolated[here], block[here], threshold[here]) == expected
        seen.add((bool(isolated[here]), min(int(block[here]), 3)))
    assert seen >= {(True, 1), (True, 2), (False, 2), (True, 3), (False, 3)}


def test_engine_equals_the_plain_definition_from_embeddings():
    pool, enrolment = corpus(20, 13, kind="a"), corpus(20, 2, kind="b")
    table = geography(20)
    result = isolate(
        pool, enrolment, sizes=[2, 7, 20], length=2, side_information=table, targets=4,
        draws=2, splits=3, n_calibration=3, seed=5,
    )  # fmt: skip
    rows, enrolled = by_speaker(pool), by_speaker(enrolment)
    for t, p, draw, k, level in np.ndindex(result.isolated.shape[1:]):
        own = list(rows.speakers).index(result.targets[t])
        mine = enrolled.matrix[enrolled.start[own] : enrolled.start[own + 1]].mean(axis=0)
        plan = draw_conversations(rows.start, 2, stream(5, "split", p), n_calibration=3)
        talk = rows.matrix[plan.utterances].mean(axis=1)
        score = talk @ mine / np.linalg.norm(talk, axis=1) / np.linalg.norm(mine)
        cut = plan.start
        candidates = Candidates(rows.speakers, np.array([own]), None, 20, 2, (1.0,), False, 5)
        expected = plain_evaluation(
            {s: score[cut[s]] for s in range(20)},
            {s: score[cut[s] + 1 : cut[s + 1]] for s in range(20)},
            candidates.order(0)[draw, : result.sizes[k]],
            own,
            lambda s, own=own, level=level: (
                table.iloc[s, :level] == table.iloc[own, :level]
            ).all(),
        )
        assert result.isolated[0, t, p, draw, k, level] == expected[0]
        assert result.block[0, t, draw, k, level] == expected[1]
        assert result.threshold[0, t, p, draw, k, level] == pytest.approx(expected[2], abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 17, 60])
def test_outcomes_equal_the_authors_package(n):
    metric = pytest.importorskip("legal_eval.metrics.singling_out")
    rng = np.random.default_rng(3)
    counts = rng.integers(2, 11, 60)
    start = np.concatenate([[0], np.cumsum(counts)])
    scores = rng.normal(size=(12, start[-1])).astype(np.float32)
    names = [f"s{i}" for i in range(60)]
    is_test = np.zeros(start[-1], bool)
    is_test[start[:-1]] = True
    ends = np.cumsum(counts - 1)
    theirs = metric.singling_out(
        metric.ConversationScores(
            names[:12],
            names,
            scores[:, is_test].astype(float),
            scores[:, ~is_test].astype(float),
            list(zip(ends - (counts - 1), ends, strict=True)),
        ),
        n,
        n_runs=4,
        seed=9,
        fold=2,
    )
    order = np.empty((12, 4, n), np.int32)
    for t, run in itertools.product(range(12), range(4)):  # the package's own sets
        others = np.random.default_rng((9, n, 2, t, run)).choice(59, size=n - 1, replace=False)
        order[t, run] = [t, *np.where(others >= t, others + 1, others)]
    isolated, block, _ = run_kernel(scores, start, order, np.empty((60, 0), np.int32), [n])
    assert isolated[:, :, 0, 0].astype(int).tolist() == list(theirs.values())
    assert (block == n).all()


def test_reference_and_chance_take_their_known_values():
    assert conditional_reference(np.array([1, 2, 3])).tolist() == pytest.approx([1, 0.5, 4 / 9])
    assert conditional_reference(1e9) == pytest.approx(np.exp(-1), abs=1e-8)
    sizes = np.array([1, 2, 3, 5, 19, 123, 1000])
    known = [1, 0.4737, 0.4212, 0.3882, 0.3581, 0.3501, 0.3489]
    assert chance_level(sizes).tolist() == pytest.approx(known, abs=5e-5)
    assert chance_level(1e7, 9) == pytest.approx(0.9**10, abs=1e-6)
    assert chance_level(50, 1e7) == pytest.approx(conditional_reference(50), abs=1e-6)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_chance_level_counts_the_rankings(n, m):
    """Every ranking of n tests among n x m calibrations is as likely as any other."""
    places = list(itertools.combinations(range(n * (m + 1)), n))
    one_above = 0
    for tests in places:
        calibration = [i for i in range(n * (m + 1)) if i not in tests]
        one_above += sum(i < calibration[m - 1] for i in tests) == 1
    assert chance_level(n, m) == pytest.approx(one_above / len(places))


def test_useless_voices_isolate_at_the_chance_level():
    pool, enrolment = corpus(400, 10, noise=1e6), corpus(400, 1, noise=1e6, kind="b")
    table = geography(400, areas=(4, 100))
    result = isolate(
        pool, enrolment, sizes=[400], side_information=table, targets=300, draws=2, splits=5
    )
    for row in result.summary().itertuples():
        assert abs(row.observed - row.chance) < 4 * row.observed_se
    assert result.summary().observed_se.max() < 0.03


def test_perfect_voices_always_isolate_and_alone_in_a_block_suffices():
    pool, enrolment = (
        corpus(50, 10, noise=0, dimension=64),
        corpus(50, 1, noise=0, dimension=64, kind="b"),
    )
    summary = isolate(pool, enrolment, sizes=[1, 2, 50], targets="all", splits=2).summary()
    assert (summary.observed == 1).all()
    useless = corpus(50, 10, noise=1e6)
    table = pd.DataFrame({"id": enrolment.speakers}, index=enrolment.speakers)
    alone = isolate(
        useless, enrolment_of(useless), sizes=[50], side_information=table, targets="all"
    )
    summary = alone.summary().set_index("level")
    assert summary.loc["id", ["block_size", "reference", "chance", "observed"]].tolist() == [1] * 4
    assert summary.loc["signal only", "observed"] < 0.5


def enrolment_of(pool):
    """Fresh enrolment utterances for the speakers of a pool."""
    speakers = np.unique(pool.speakers)
    vectors = np.random.default_rng(8).normal(size=(len(speakers), pool.dimension))
    return Embeddings(np.char.add(speakers, "-e"), speakers, vectors.astype(np.float32))


def test_nothing_depends_on_the_order_of_rows_or_on_chunks(monkeypatch, tmp_path):
    pool, enrolment = corpus(70, 10), corpus(70, 2, kind="b")
    options = {"sizes": [5, 40], "side_information": geography(70), "targets": "all", "splits": 3}
    first = isolate(pool, enrolment, **options)
    shuffled = np.random.default_rng(0).permutation(len(pool))
    again = isolate(
        pool.select(shuffled), enrolment, **options | {"side_information": geography(70)[::-1]}
    )
    monkeypatch.setattr("voiceprivacy._isolation_engine.BYTES_AT_ONCE", 1)
    chunked = isolate(pool, enrolment, **options)
    stored = isolate(pool, enrolment, **options, store=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 2 * 3
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    one_thread = isolate(pool, enrolment, **options)
    numba.set_num_threads(before)
    some = isolate(pool, enrolment, **options | {"targets": first.targets[:3].tolist()})
    for other in (again, chunked, stored, one_thread):
        for name in ("isolated", "block", "threshold"):
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
    np.testing.assert_array_equal(first.isolated[:, :3], some.isolated)


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    pool, enrolment = corpus(40, 10), corpus(40, 2, kind="b")
    options = {"sizes": [40], "targets": 6, "draws": 2, "splits": 3, "store": tmp_path}
    calls = []

    def stop_at_the_third(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*arguments)

    original = kernel.highest_scores
    monkeypatch.setattr(kernel, "highest_scores", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        isolate(pool, enrolment, **options)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    resumed = isolate(pool, enrolment, **options)
    assert len(calls) == 4
    fresh = isolate(pool, enrolment, **options | {"store": None})
    np.testing.assert_array_equal(resumed.isolated, fresh.isolated)
    with pytest.raises(VoicePrivacyError, match=r"parts of another run.*seed"):
        isolate(pool, enrolment, **options | {"seed": 1})


def test_sets_nest_and_hold_the_target():
    speakers = np.array([f"s{i}" for i in range(30)])
    candidates = Candidates(speakers, np.array([7]), None, 30, 3, (1.0,), False, 0)
    order = candidates.order(0)
    assert (order[:, 0] == 7).all()
    assert (np.sort(order, axis=1) == np.arange(30)).all()
    assert (order[0] != order[1]).any()


def test_a_value_shared_by_all_changes_nothing_and_blocks_shrink():
    pool, enrolment = corpus(60, 10), corpus(60, 2, kind="b")
    table = geography(60).assign(level0="everywhere")
    result = isolate(pool, enrolment, sizes=[10, 60], side_information=table, targets=20)
    np.testing.assert_array_equal(result.isolated[..., 0], result.isolated[..., 1])
    assert (np.diff(result.block, axis=-1) <= 0).all()
    assert (np.diff(result.block, axis=-2) >= 0).all()


def test_partial_knowledge_reaches_its_limits_and_counts_its_candidates():
    pool, enrolment = corpus(60, 4), corpus(60, 2, kind="b")
    table = geography(60)
    options = {"sizes": [60], "side_information": table, "targets": 20, "draws": 3, "splits": 2}
    result = isolate(pool, enrolment, known_fractions=[0, 0.4, 1], **options)
    full = isolate(pool, enrolment, **options)
    np.testing.assert_array_equal(result.isolated[2], full.isolated[0])
    assert (result.block[0] == 60).all()
    candidates = Candidates(np.unique(pool.speakers), None, None, 60, 3, (0.4,), False, 0)
    known = candidates.disclosed(0.4)
    for t, draw in np.ndindex(20, 3):
        own = np.flatnonzero(np.unique(pool.speakers) == result.targets[t])[0]
        same = (table.level2 == table.level2.iloc[own]).to_numpy()
        expected = (same & known[draw]).sum() + (~known[draw]).sum() if known[draw, own] else 60
        assert result.block[1, t, draw, 0, 3] == expected
        assert result.target_known[1, t, draw] == known[draw, own]
    assert (known <= candidates.disclosed(0.7)).all()
    forced = isolate(pool, enrolment, known_fractions=[0.4], target_known=True, **options)
    assert forced.target_known.all()
    assert (forced.block[0, ..., 3] < 60).all()


def test_summary_splits_by_value_and_by_whether_the_target_is_known():
    pool, enrolment = corpus(60, 4), corpus(60, 2, kind="b")
    result = isolate(
        pool, enrolment, sizes=[60], side_information=geography(60), targets=30,
        known_fractions=[0.5],
    )  # fmt: skip
    both = result.summary(by="known")
    assert set(both.known) == {True, False}
    assert both.groupby("known").evaluations.first().sum() == result.summary().evaluations[0]
    known = result.target_known[0]
    rates = result.isolated[0, :, :, :, 0, 3].mean(axis=1)
    means = [rates[t, known[t]].mean() for t in range(30) if known[t].any()]
    row = both[both.known & (both.level == "level2")].iloc[0]
    assert row.observed == pytest.approx(np.mean(means))
    assert row.targets == len(means)
    value = result.summary(by="level0")
    assert value.groupby("level0").targets.first().sum() == 30
    with pytest.raises(VoicePrivacyError, match="by is 'town'; expected one of 'level0'"):
        result.summary(by="town")


def test_summary_averages_the_reference_over_each_block():
    pool, enrolment = corpus(60, 4), corpus(60, 2, kind="b")
    result = isolate(pool, enrolment, sizes=[30], side_information=geography(60), targets=30)
    row = result.summary().set_index("level").loc["level2"]
    blocks = result.block[0, :, :, 0, 3]
    assert row.reference == pytest.approx(conditional_reference(blocks).mean())
    assert row.chance == pytest.approx(chance_level(blocks, 3).mean())
    assert row.reference > conditional_reference(row.block_size)
    means = result.isolated[0, :, :, :, 0, 3].mean(axis=(1, 2))
    assert row.observed == pytest.approx(means.mean())
    assert row.observed_se == pytest.approx(means.std(ddof=1) / np.sqrt(30))
    rates = result.per_target().set_index(["level", "n_speakers"]).loc[("level2", 30), "observed"]
    assert rates.tolist() == pytest.approx(means.tolist())


def test_frozen_splits_share_one_shuffle():
    pool, enrolment = corpus(30, 10), corpus(30, 2, kind="b")
    frozen = isolate(pool, enrolment, sizes=[30], targets=10, frozen_splits=True)
    assert frozen.isolated.shape[2:4] == (1, 50)
    assert (frozen.isolated == frozen.isolated[:, :, :, :1]).all()  # S_N is everybody


def blocks_by_arithmetic(members, n, everyone):
    """Mean block size and P_ref in a random set of n, for targets in areas of these members."""
    size = np.arange(1, n + 1)
    chance = hypergeom.pmf(size - 1, everyone - 1, np.asarray(members)[:, None] - 1, n - 1)
    return (chance @ size).mean(), (chance @ conditional_reference(size)).mean()


@pytest.fixture
def published_assignment(shared_data):
    """The authors' assignment, with how many speakers share each one's area and class."""
    path = shared_data("side_information_authors") / "geolocation.csv"
    table = pd.read_csv(path, dtype=str).set_index("spk_id")
    table["HH"] = np.where(table.hh_size == "1", "HH1", "more")
    table["in OA"] = table.groupby("OA").OA.transform("size")
    table["in HH"] = table.groupby(["OA", "HH"]).OA.transform("size")
    return table


def test_blocks_on_the_published_assignment(published_assignment):
    table = published_assignment
    targets = np.sort(stream(0, "test").choice(table.index.to_numpy(str), 300, replace=False))
    speakers = np.repeat(table.index.to_numpy(str), 2)
    vectors = np.random.default_rng(0).normal(size=(len(speakers), 2)).astype(np.float32)
    pool = Embeddings(np.array([f"{s}-{i}" for i, s in enumerate(speakers)]), speakers, vectors)
    result = isolate(
        pool, enrolment_of(pool), sizes=[30, 12_800], splits=1, targets=targets,
        side_information=table[["MSOA", "LSOA", "OA", "HH"]],
    )  # fmt: skip
    summary = result.summary().set_index(["level", "n_speakers"])
    for n in (30, 12_800):
        block, reference = blocks_by_arithmetic(table.loc[targets, "in OA"], n, len(table))
        assert summary.loc[("OA", n), "block_size"] == pytest.approx(block, rel=0.03)
        assert summary.loc[("OA", n), "reference"] == pytest.approx(reference, abs=0.01)
    alone = result.summary(by="HH").set_index(["HH", "level", "n_speakers"])
    home = table.loc[targets][lambda t: t.HH == "HH1"]["in HH"]
    block, reference = blocks_by_arithmetic(home, 12_800, len(table))
    assert alone.loc[("HH1", "HH", 12_800), "block_size"] == pytest.approx(block, rel=0.03)
    assert alone.loc[("HH1", "HH", 12_800), "reference"] == pytest.approx(reference, abs=0.003)


@pytest.mark.parametrize(
    ("column", "n", "block", "reference"),
    [("in OA", 12_800, (123, 125), (0.3695, 0.3705)), ("in HH", 12_800, (19, 20), (0.378, 0.381)),
     ("in OA", 30, (1.2, 1.4), (0.87, 0.89))],
)  # fmt: skip
def test_known_blocks_of_the_published_assignment(
    published_assignment, column, n, block, reference
):
    table = published_assignment
    everyone = len(table)
    if column == "in HH":
        table = table[table.HH == "HH1"]
    members = table[column].value_counts(normalize=True)
    each = [blocks_by_arithmetic([m], n, everyone) for m in members.index]
    mean, expected = members.to_numpy() @ np.array(each)
    assert block[0] < mean < block[1]
    assert reference[0] < expected < reference[1]


def refuse(match, **changes):
    options = {"sizes": [10], "targets": "all"} | changes
    pool = options.pop("pool", corpus(12, 10))
    enrolment = options.pop("enrolment", corpus(12, 2, kind="b"))
    with pytest.raises(VoicePrivacyError, match=match):
        isolate(pool, enrolment, **options)


def test_bad_requests_are_refused_with_what_to_do():
    refuse("N = 40, 50 cannot be drawn: 12 speakers are eligible", sizes=[10, 40, 50])
    refuse("N = 0 cannot", sizes=[0])
    refuse("495 targets were asked for, but 12", targets=495)
    refuse("1 targets are not enrolled.*'nobody'", targets=["nobody", "s00001"])
    refuse("calibration is 'none'", calibration="none")
    refuse("known_fractions 1.5", known_fractions=[1.5])
    refuse(
        "known_fractions 0.5, 0.5 must lie between 0 and 1, each once", known_fractions=[0.5] * 2
    )
    refuse("n_calibration is 0; expected a whole number from 1 up", n_calibration=0)
    refuse("length is 0", length=0)
    refuse("draws is 0", draws=0)
    refuse("seed is -1; expected a whole number from 0 up", seed=-1)
    refuse("N = 2.7 cannot", sizes=[2.7])
    refuse(
        "columns named 'level'", side_information=geography(12).rename({"level0": "level"}, axis=1)
    )
    opposite = corpus(12, 2, kind="b")
    opposite.matrix[1] = -opposite.matrix[0]
    refuse("1 means of embeddings are zero", enrolment=opposite)
    refuse("both in the pool and in the enrolment: 's00000-a000'", enrolment=corpus(12, 2))
    refuse("No speaker is eligible .12 in the pool, 12 utterances each needed", length=6)
    narrow = corpus(12, 2, kind="b", dimension=4)
    refuse("pool's embeddings have 8 numbers and the enrolment's 4", enrolment=narrow)
    other = Embeddings(["u", "v"], ["x", "x"], np.ones((2, 8)))
    refuse("No speaker is both enrolled and in the pool.*'x', the pool 's00000'", enrolment=other)
    refuse("lacks 2 of 12 speakers: 's00010', 's00011'", side_information=geography(10))


def test_speakers_without_side_information_can_be_kept_as_unknown():
    result = isolate(
        corpus(12, 10), corpus(12, 2, kind="b"), sizes=[12], targets="all",
        side_information=geography(10), missing="unknown",
    )  # fmt: skip
    assert result.counts["without_side_information"] == 2
    by_target = dict(zip(result.targets, result.block[0, :, 0, 0, 3], strict=True))
    assert by_target["s00011"] == 12
    finest = geography(10).level2
    assert by_target["s00003"] == (finest == finest.iloc[3]).sum() + 2


def test_speakers_with_few_utterances_are_left_out_and_counted():
    pool = corpus(12, 10)
    short = pool.select((pool.speakers != "s00004") | (pool.utterances < "s00004-a041"))
    result = isolate(short, corpus(12, 2, kind="b"), sizes=[11], targets="all")
    assert result.counts == {
        "eligible": 11,
        "left_out": 1,
        "without_side_information": 0,
        "enrolled_not_in_pool": 0,
        "enrolled_left_out": 1,
    }
    assert "s00004" not in result.targets


def test_an_unknown_value_rules_nobody_out():
    codes = np.array([[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0], [-1, -1]], np.int32)
    depths = kernel.shared_depths(codes, np.array([0, 3]))
    assert depths.tolist() == [[2, 1, 0, 2, 2, 2], [2, 2, 0, 2, 2, 2]]


def test_a_target_without_side_information_is_not_known():
    result = isolate(
        corpus(12, 10), corpus(12, 2, kind="b"), sizes=[12], targets="all",
        side_information=geography(10), missing="unknown",
    )  # fmt: skip
    unknown = np.isin(result.targets, ["s00010", "s00011"])
    assert (result.target_known[0] == ~unknown[:, None]).all()


def test_the_chance_level_is_not_known_where_calibration_is_unequal():
    pool = corpus(12, 10)
    short = pool.select((pool.speakers != "s00004") | (pool.utterances < "s00004-a045"))
    uneven = isolate(short, corpus(12, 2, kind="b"), sizes=[12], targets="all")
    assert uneven.summary().chance.isna().all()
    assert not uneven.equal_calibration
    even = isolate(short, corpus(12, 2, kind="b"), sizes=[12], targets="all", n_calibration=3)
    assert even.summary().chance.notna().all()


def test_the_length_of_a_vector_does_not_matter():
    pool, enrolment = corpus(12, 10), corpus(12, 2, kind="b")
    scales = np.resize(np.float32([1e-30, 1, 1e30]), len(pool))[:, None]
    scaled = Embeddings(pool.utterances, pool.speakers, pool.matrix * scales)
    first = isolate(pool, enrolment, sizes=[12], targets="all")
    again = isolate(scaled, enrolment, sizes=[12], targets="all")
    np.testing.assert_allclose(first.threshold, again.threshold, atol=1e-6)
