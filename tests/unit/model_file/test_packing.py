"""What a model file holds: a model comes back as it was, and contents that make no sense are refused in a line."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from support.corpora import made_up
from support.paths import TESTS
from thresher import Categorizer
from thresher.errors import ModelFileError
from thresher.model.decisions import Decisions
from thresher.model_file.io import read_model, write_model
from thresher.model_file.packing import pack
from thresher.text import lemmas

TRAIN, TEST = made_up(120), made_up(60, seed=1)
LEARNERS = ("balanced-winnow", "regularized-winnow", "positive-winnow", "perceptron")
Arrays = dict[str, NDArray[Any]]


def letters(text: str) -> Iterable[str]:
    """Serve as a user's own analyser."""
    return text.split()


# A model comes back as it was.


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"preset": "paper"},
        {"preset": "paper", "learner": "positive-winnow", "average": True, "discard_by_pass": 1},
        {"learner": "perceptron", "discard": True, "discard_by_pass": 2, "discard_final": False},
        {"strength": "tfidf", "policy": "at-most-2", "thresholds": "recall:0.9"},
        {"analyser": "words+ngrams:2+title", "min_count": 2, "max_features": 300, "discard_range": (-0.1, 0.1)},
        {"late_start": "initial", "threshold_range": None, "average_active": 12.5, "seed": 2**70},
    ],
    ids=str,
)
def test_a_saved_model_comes_back(settings: dict[str, Any], tmp_path: Path) -> None:
    model = Categorizer(**settings).fit(*TRAIN)
    model.learn("new words: größer, нефть", accept=["Ölpreise"], reject=["grain"])
    assert model.save(tmp_path / "m") == model.digest()
    twin = Categorizer.load(tmp_path / "m")
    assert twin.digest() == model.digest()
    assert twin.settings == model.settings
    assert twin.categories == model.categories
    assert twin.predict(TEST.texts) == model.predict(TEST.texts)
    assert twin.decision_function(TEST.texts).tobytes() == model.decision_function(TEST.texts).tobytes()
    assert twin.predict_proba(TEST.texts).tobytes() == model.predict_proba(TEST.texts).tobytes()
    assert twin.explain(TEST.texts[0]) == model.explain(TEST.texts[0])
    assert twin.save(tmp_path / "n") == model.digest()


def test_a_new_process_predicts_the_same(tmp_path: Path) -> None:
    model = Categorizer(strength="tfidf").fit(*TRAIN)
    model.save(tmp_path / "m")
    program = (
        "from support.corpora import made_up; from thresher import Categorizer\n"
        f"model = Categorizer.load({str(tmp_path / 'm')!r}); texts = made_up(60, seed=1).texts\n"
        "print(model.digest(), model.predict(texts), model.decision_function(texts).tobytes().hex())"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{program}"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    scores = model.decision_function(TEST.texts).tobytes().hex()
    assert said == f"{model.digest()} {model.predict(TEST.texts)} {scores}\n"


def test_a_model_that_has_learned_nothing_comes_back(tmp_path: Path) -> None:
    model = Categorizer(policy="exactly-one")
    model.save(tmp_path / "m")
    twin = Categorizer.load(tmp_path / "m")
    assert twin.digest() == model.digest()
    assert twin.fit(*TRAIN).digest() == model.fit(*TRAIN).digest()


def learn_online(model: Categorizer, start: int, stop: int) -> None:
    """Go through a stream of documents: labelled ones, and every third time a correction with a word of its own."""
    for i in range(start, stop):
        if i % 3:
            model.partial_fit([TEST.texts[i]], [TEST.categories[i]])
        else:
            model.learn(TEST.texts[i] + f" word{i}", accept=["grain", f"new{i % 2}"])


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("start", ["one document", "fit", "fit, tf-idf, discarding"])
def test_a_resumed_run_equals_an_uninterrupted_one(start: str, learner: str, average: bool, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"learner": learner, "average": average, "max_passes": 12}
    if "tf-idf" in start:
        settings |= {"strength": "tfidf", "discard": True, "discard_by_pass": 2, "discard_final": False}

    def begun() -> Categorizer:
        model = Categorizer(**settings)
        return model if start == "one document" else model.fit(*TRAIN)

    whole = begun()
    learn_online(whole, 0, 30)
    draw = random.Random(start + learner)
    for n_stops in (1, 2, 3):
        stops = [1, *sorted(draw.sample(range(2, 30), n_stops)), 30]
        model, done = begun(), 0
        for stop in stops:
            learn_online(model, done, stop)
            model.save(tmp_path / "m")
            model, done = Categorizer.load(tmp_path / "m"), stop
        assert model.digest() == whole.digest()
    assert model.predict(TEST.texts) == whole.predict(TEST.texts)


def test_saving_between_corrections_changes_nothing(tmp_path: Path) -> None:
    quiet, saved = Categorizer().fit(*TRAIN), Categorizer().fit(*TRAIN)
    learn_online(quiet, 0, 12)
    for i in range(12):
        learn_online(saved, i, i + 1)
        saved.save(tmp_path / "m")
    assert saved.digest() == quiet.digest()


@pytest.mark.parametrize(
    "settings", [{"n_threads": 1}, {"n_threads": 3}, {"block_width": 1}, {"block_width": 32}], ids=str
)
def test_digest_does_not_depend_on_where_a_model_runs(settings: dict[str, Any], tmp_path: Path) -> None:
    usual, model = Categorizer().fit(*TRAIN), Categorizer(**settings).fit(*TRAIN)
    assert model.digest() == usual.digest()
    learn_online(usual, 0, 8)
    learn_online(model, 0, 8)
    assert model.digest() == usual.digest()
    model.save(tmp_path / "m")
    assert Categorizer.load(tmp_path / "m", n_threads=2).digest() == usual.digest()


def test_digest_depends_on_settings_names_and_weights() -> None:
    def digest(**settings: Any) -> str:
        return Categorizer(**settings).fit(*TRAIN).digest()

    renamed = Categorizer().fit(*TRAIN).rename_category("grain", "cereals").digest()
    corrected = Categorizer().fit(*TRAIN)
    corrected.learn("wheat", reject=["grain"])
    digests = {digest(), digest(seed=1), digest(min_count=3), digest(policy="at-most-3"), renamed, corrected.digest()}
    assert len(digests) == 6


def test_a_function_that_served_as_analyser_must_be_given_again(tmp_path: Path) -> None:
    model = Categorizer(analyser=letters).fit(*TRAIN)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"test_packing\.letters\) is a function \(load with analyser="):
        Categorizer.load(tmp_path / "m")
    twin = Categorizer.load(tmp_path / "m", analyser=letters)
    assert twin.digest() == model.digest()
    assert twin.predict(TEST.texts) == model.predict(TEST.texts)


def test_another_analyser_than_the_model_s_is_refused(tmp_path: Path) -> None:
    Categorizer(analyser=letters).fit(*TRAIN).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="analyser"):
        Categorizer.load(tmp_path / "m", analyser="words")


# Contents that make no sense.


@cache
def packed(learner: str = "balanced-winnow") -> tuple[dict[str, Any], Arrays]:
    model = Categorizer(learner=learner, strength="tfidf", discard=True, discard_by_pass=2).fit(*TRAIN)
    model.learn("new words", accept=["new"])
    return pack(model.state)


def crafted(
    path: Path,
    settings: dict[str, Any] | None = None,
    arrays: Arrays | None = None,
    inner: dict[str, Any] | None = None,
    without: str = "",
    learner: str = "balanced-winnow",
) -> None:
    """Write a model with some of its contents changed, settings of the learner by `inner`."""
    known, held = packed(learner)
    changed = known | {"settings": known["settings"] | (inner or {})} | (settings or {})
    changed = {name: value for name, value in changed.items() if name != without}
    write_model(path, changed, {}, {name: a for name, a in (held | (arrays or {})).items() if name != without})


def assert_refused(path: Path, message: str | None = None) -> None:
    started = time.process_time()
    with pytest.raises(ModelFileError, match=message) as refusal:
        Categorizer.load(path)
    assert time.process_time() - started < 1
    assert str(refusal.value).startswith(f"{path}: ")
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 1000


def put(name: str, place: Any, value: Any, learner: str = "balanced-winnow") -> Arrays:
    """Return one of the model's arrays with a value put into a place."""
    array = packed(learner)[1][name].copy()
    array[place] = value
    return {name: array}


def cut(name: str, count: int = 1) -> Arrays:
    """Return one of the model's arrays without its last values."""
    return {name: packed()[1][name][:-count]}


def extended(name: str, value: Any) -> Arrays:
    array = packed()[1][name]
    return {name: np.append(array, np.array([value], dtype=array.dtype))}


def typed(name: str, dtype: Any) -> Arrays:
    return {name: packed()[1][name].astype(dtype)}


def named(table: str, *names: bytes) -> Arrays:
    """Return a table of names that has as many as the model's, the first ones replaced."""
    held = packed()[1]
    stops = [0, *held[f"{table}.stops"].tolist()]
    old = [held[f"{table}.letters"][a:b].tobytes() for a, b in pairwise(stops)]
    new = [*names, *old[len(names) :]]
    return {
        f"{table}.letters": np.frombuffer(b"".join(new), dtype=np.uint8),
        f"{table}.stops": np.cumsum([len(name) for name in new], dtype=np.int64),
    }


BAD_ARRAYS: dict[str, Callable[[], Arrays]] = {
    "NaN weight": lambda: put("weights.positive", 0, np.nan),
    "infinite weight": lambda: put("weights.negative", 0, np.inf),
    "negative weight": lambda: put("weights.positive", 3, -1.0),
    "zero weight": lambda: put("weights.positive", 3, 0.0),
    "huge weight": lambda: put("weights.positive", 3, 3e38),
    "NaN moment": lambda: put("weights.moment", 0, np.nan),
    "huge moment": lambda: put("weights.moment", 0, 1e300),
    "idf in two dimensions": lambda: {"features.idf": packed()[1]["features.idf"][:, np.newaxis]},
    "thresholds in no dimension": lambda: {"decisions.thresholds": np.array(0.5)},
    "online mistakes beyond counting": lambda: put("learner.online_mistakes", 0, 2**63 - 1),
    "documents beyond counting": lambda: put("features.documents", 0, 2**53),
    "mistakes beyond counting": lambda: put("learner.mistakes", (0, 0), 2**62),
    "weights of float64": lambda: typed("weights.positive", np.float64),
    "weight missing": lambda: cut("weights.negative"),
    "weight of an unknown feature": lambda: put("weights.features", -1, 10**6),
    "weight of feature -1": lambda: put("weights.features", 0, -1),
    "weights of one feature twice": lambda: put("weights.features", 1, packed()[1]["weights.features"][0]),
    "features of int64": lambda: typed("weights.features", np.int64),
    "weight stops decrease": lambda: put("weights.stops", 1, 0),
    "weight stops beyond the end": lambda: put("weights.stops", -1, 10**9),
    "weight stops negative": lambda: put("weights.stops", 0, -1),
    "weight stops of float64": lambda: typed("weights.stops", np.float64),
    "a category without weights": lambda: cut("weights.stops"),
    "categories twice": lambda: named("categories", b"energy", b"energy"),
    "category without a name": lambda: named("categories", b""),
    "category of spaces": lambda: named("categories", b"  "),
    "category with a control character": lambda: named("categories", b"a\nb"),
    "category not in UTF-8": lambda: named("categories", b"\xff\xfe"),
    "category a lone surrogate": lambda: named("categories", b"\xed\xa0\x80"),
    "category too long": lambda: named("categories", b"a" * 201),
    "category missing": lambda: cut("categories.stops"),
    "category stops decrease": lambda: put("categories.stops", 2, 0),
    "features twice": lambda: named("features", b"the", b"the"),
    "feature not in UTF-8": lambda: named("features", b"\xc3"),
    "feature half a letter": lambda: named("features", b"\xed\xa0\x80"),
    "features that share a letter": lambda: named("features", b"\xc3", b"\xa9"),
    "feature without a name": lambda: named("features", b""),
    "later feature without a name": lambda: named("features", b"first", b"second", b""),
    "the constant feature of a model without": lambda: named("features", b"(always)"),
    "the constant feature in the middle": lambda: named("features", b"first", b"(always)"),
    "letters of int64": lambda: typed("features.letters", np.int64),
    "letters of int8": lambda: typed("features.letters", np.int8),
    "letters in two dimensions": lambda: {"features.letters": packed()[1]["features.letters"][:, np.newaxis]},
    "feature stops decrease": lambda: put("features.stops", 4, 1),
    "feature stops in two dimensions": lambda: {"features.stops": packed()[1]["features.stops"][:, np.newaxis]},
    "feature missing": lambda: cut("features.stops"),
    "documents of too few features": lambda: cut("features.documents"),
    "documents of too many features": lambda: extended("features.documents", 3),
    "documents negative": lambda: put("features.documents", 0, -5),
    "more documents of a feature than there were": lambda: put("features.documents", 1, 2**20),
    "documents of float64": lambda: typed("features.documents", np.float64),
    "idf of too few features": lambda: cut("features.idf"),
    "idf of too many features": lambda: extended("features.idf", 1.0),
    "no idf where strengths need it": lambda: {"features.idf": np.zeros(0, dtype=np.float32)},
    "NaN idf": lambda: put("features.idf", 0, np.nan),
    "huge idf": lambda: put("features.idf", 0, 3e38),
    "tiny idf": lambda: put("features.idf", 0, 1e-30),
    "kept document with a huge count": lambda: put("reservoir.counts", 0, 3e38),
    "negative idf": lambda: put("features.idf", 0, -1.0),
    "idf of float64": lambda: typed("features.idf", np.float64),
    "threshold missing": lambda: cut("decisions.thresholds"),
    "thresholds and slopes missing": lambda: cut("decisions.thresholds") | cut("decisions.slopes"),
    "NaN threshold": lambda: put("decisions.thresholds", 0, np.nan),
    "NaN slope": lambda: put("decisions.slopes", 0, np.nan),
    "negative slope": lambda: put("decisions.slopes", 0, -1.0),
    "NaN rivalry": lambda: {"decisions.rivalry": np.full(len(packed()[1]["decisions.slopes"]), np.nan)},
    "rivalry of nothing": lambda: {"decisions.rivalry": np.zeros(len(packed()[1]["decisions.slopes"]))},
    "midpoints of too few categories": lambda: {"decisions.midpoints": np.full(1, 0.2)},
    "NaN midpoint": lambda: {"decisions.midpoints": np.full(len(packed()[1]["decisions.slopes"]), np.nan)},
    "rivalry of too few categories": lambda: {"decisions.rivalry": np.full(1, 0.2)},
    "rivalry of float32": lambda: {"decisions.rivalry": np.full(1, 0.2, dtype=np.float32)},
    "thresholds of int64": lambda: typed("decisions.thresholds", np.int64),
    "kept document with an unknown feature": lambda: put("reservoir.features", 5, 10**6),
    "kept document with feature -1": lambda: put("reservoir.features", 0, -1),
    "kept document with features out of order": lambda: put("reservoir.features", [0, 1], [5, 4]),
    "kept document with an unknown category": lambda: put("reservoir.labels", 0, 99),
    "kept document with category -1": lambda: put("reservoir.labels", 0, -1),
    "kept document with a count of zero": lambda: put("reservoir.counts", 0, 0.0),
    "kept document with a NaN count": lambda: put("reservoir.counts", 0, np.nan),
    "kept counts missing": lambda: cut("reservoir.counts"),
    "kept document missing": lambda: cut("reservoir.stops"),
    "kept labels missing": lambda: cut("reservoir.label_stops"),
    "kept stops decrease": lambda: put("reservoir.stops", 3, 0),
    "kept label stops decrease": lambda: put("reservoir.label_stops", 9, 0),
    "discarded bits too few": lambda: cut("weights.discarded"),
    "discarded bits too many": lambda: extended("weights.discarded", 0),
    "late bits too few": lambda: cut("weights.late"),
    "late bits of bool": lambda: typed("weights.late", np.bool_),
    "both discarded and late": lambda: {"weights.discarded": packed()[1]["weights.late"]},
    "examples missing": lambda: cut("learner.examples"),
    "examples negative": lambda: put("learner.examples", 0, -1),
    "positives of float64": lambda: typed("learner.positives", np.float64),
    "online mistakes missing": lambda: cut("learner.online_mistakes"),
    "passes of too many categories": lambda: {"learner.passes": np.ones(99, dtype=np.int64)},
    "passes negative": lambda: put("learner.passes", 0, -1),
    "passes of float64": lambda: typed("learner.passes", np.float64),
    "mistakes in one dimension": lambda: {"learner.mistakes": np.zeros(6, dtype=np.int64)},
    "mistakes of bool": lambda: typed("learner.mistakes", np.bool_),
    "an array too many": lambda: {"extra": np.zeros(3)},
}


@pytest.mark.parametrize("arrays", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_arrays_that_make_no_sense_are_refused(arrays: Callable[[], Arrays], tmp_path: Path) -> None:
    crafted(tmp_path / "m", arrays=arrays())
    assert_refused(tmp_path / "m")


def test_a_kept_document_with_the_constant_feature_is_refused(tmp_path: Path) -> None:
    settings, arrays = pack(Categorizer(preset="fast", min_count=1).fit(*made_up(20)).state)
    write_model(tmp_path / "m", settings, {}, arrays)
    assert Categorizer.load(tmp_path / "m").state.features.has_constant
    spoilt = arrays["reservoir.features"].copy()
    spoilt[0] = 0
    write_model(tmp_path / "m", settings, {}, arrays | {"reservoir.features": spoilt})
    assert_refused(tmp_path / "m", "constant")


@pytest.mark.parametrize("learner", LEARNERS)
def test_numbers_of_another_kind_are_refused_before_a_kernel_is_compiled_for_them(learner: str, tmp_path: Path) -> None:
    crafted(tmp_path / "m", learner=learner)
    Categorizer.load(tmp_path / "m")
    compiled = compiled_kinds()
    for name, array in packed(learner)[1].items():
        for kind in {"|b1", "|u1", "|i1", "<i4", "<i8", "<f4", "<f8"} - {array.dtype.str}:
            crafted(tmp_path / "m", arrays={name: array.astype(kind)}, learner=learner)
            assert_refused(tmp_path / "m")
    assert compiled_kinds() == compiled


def compiled_kinds() -> int:
    """Return for how many kinds of arguments all kernels of this process have been compiled, or read from the cache."""
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("thresher.kernels.")]
    kernels = {value for names in modules for value in names.values() if isinstance(value, Dispatcher)}
    return sum(len(kernel.signatures) for kernel in kernels)


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, -np.inf])
def test_positive_winnow_has_no_weights_but_positive_ones(value: float, tmp_path: Path) -> None:
    arrays = put("weights.weight", 0, value, "positive-winnow")
    crafted(tmp_path / "m", arrays=arrays, learner="positive-winnow")
    assert_refused(tmp_path / "m", "weights.weight")


def test_perceptron_may_have_negative_weights(tmp_path: Path) -> None:
    crafted(tmp_path / "m", arrays=put("weights.weight", 0, -1.0, "perceptron"), learner="perceptron")
    assert Categorizer.load(tmp_path / "m").state.learner.weights_.min() < 0


@pytest.mark.parametrize("name", sorted(packed()[1].keys() - {"decisions.midpoints"}))
def test_a_missing_array_is_refused(name: str, tmp_path: Path) -> None:
    crafted(tmp_path / "m", without=name)
    assert_refused(tmp_path / "m", name)


BAD_SETTINGS: dict[str, dict[str, Any]] = {
    "preset": {"preset": "unheard-of"},
    "preset of wrong type": {"preset": ["paper"]},
    "settings a list": {"settings": ["theta"]},
    "settings a text": {"settings": "theta"},
    "settings empty": {"settings": {}},
    "policy": {"policy": "unheard-of"},
    "policy auto": {"policy": "auto"},
    "policy of wrong type": {"policy": 3},
    "not fitted, with weights": {"fitted": False},
    "fitted of wrong type": {"fitted": "no"},
    "average active zero": {"average_active": 0.0},
    "average active negative": {"average_active": -3.5},
    "average active a text": {"average_active": "inf"},
    "average active huge": {"average_active": 1e300},
    "documents negative": {"n_documents": -1},
    "documents a text": {"n_documents": "3"},
    "documents a fraction": {"n_documents": 2.5},
    "documents a list": {"n_documents": [3]},
    "seen negative": {"documents_seen": -(10**9)},
    "seen fewer than kept": {"documents_seen": 3},
    "seen a fraction": {"documents_seen": 200.5},
    "tail below 1": {"tail": 0.5},
    "tail a text": {"tail": "steep"},
    "a setting too many": {"extra": 1},
}
BAD_INNER: dict[str, dict[str, Any]] = {
    "a setting of many lines that would clear a screen": {"\x1b[2J\n" + "x" * 10_000: 1},
    "learner": {"learner": "unheard-of"},
    "learner of wrong type": {"learner": {"a": 1}},
    "another learner": {"learner": "perceptron"},
    "analyser": {"analyser": "unheard-of"},
    "analyser of wrong type": {"analyser": 3},
    "analyser a list": {"analyser": ["words"]},
    "analyser null": {"analyser": None},
    "tail below 1": {"tail": 0.5},
    "tail a text": {"tail": "steep"},
    "a setting too many": {"extra": 1},
    "theta a text": {"theta": "1"},
    "theta negative": {"theta": -1.0},
    "theta a switch": {"theta": True},
    "alpha": {"alpha": 0.5},
    "seed a fraction": {"seed": 0.5},
    "average a number": {"average": 1},
    "strength": {"strength": "unheard-of"},
    "strength of wrong type": {"strength": [1]},
    "threshold range of three": {"threshold_range": [0.1, 0.2, 0.3]},
    "threshold range of texts": {"threshold_range": ["a", "b"]},
    "threshold range the wrong way": {"threshold_range": [2.0, 1.0]},
    "discard range": {"discard_range": {"low": 1}},
    "min count zero": {"min_count": 0},
    "min count a fraction": {"min_count": 2.5},
    "max features a text": {"max_features": "10"},
    "folds": {"folds": 1},
    "policy": {"policy": 5},
    "thresholds": {"thresholds": ["f1"]},
}


@pytest.mark.parametrize("settings", BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    crafted(tmp_path / "m", settings)
    assert_refused(tmp_path / "m")


@pytest.mark.parametrize("inner", BAD_INNER.values(), ids=BAD_INNER)
def test_settings_of_the_learner_that_make_no_sense_are_refused(inner: dict[str, Any], tmp_path: Path) -> None:
    crafted(tmp_path / "m", inner=inner)
    assert_refused(tmp_path / "m")


@pytest.mark.parametrize("name", sorted(packed()[0].keys() - {"tail"}))
def test_a_missing_setting_is_refused(name: str, tmp_path: Path) -> None:
    crafted(tmp_path / "m", without=name)
    assert_refused(tmp_path / "m")


@pytest.mark.parametrize("place", [slice(0, 2), slice(-3, -1)], ids=["first", "last"])
@pytest.mark.parametrize("name", ["features.stops", "categories.stops", "weights.stops", "reservoir.label_stops"])
def test_stops_that_overflow_are_refused_and_crash_nothing(name: str, place: slice, tmp_path: Path) -> None:
    """The steps of such stops wrap around to positive ones; a kernel that trusts them reads far outside its arrays."""
    crafted(tmp_path / "m", arrays=put(name, place, [2**63 - 1, -2]))
    program = f"from thresher import Categorizer; Categorizer.load({str(tmp_path / 'm')!r})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(f"thresher.errors.ModelFileError: {tmp_path / 'm'}: ")


def test_the_base_of_the_crafted_files_is_accepted(tmp_path: Path) -> None:
    for learner in LEARNERS:
        crafted(tmp_path / "m", learner=learner)
        model = Categorizer.load(tmp_path / "m")
        held = read_model(tmp_path / "m")
        assert pack(model.state)[0] == held.settings


def test_rivalry_comes_back(tmp_path: Path) -> None:
    model = Categorizer().fit(*TRAIN)
    count = len(model.categories)
    model.state.decisions = Decisions(np.full(count, 0.5), np.ones(count), np.full(count, 0.2))
    model.save(tmp_path / "m")
    back = Categorizer.load(tmp_path / "m")
    assert back.state.decisions.rivalry.tolist() == [0.2] * count
    assert back.digest() == model.digest() != replace_rivalry(model, 0.1).digest()


def test_midpoints_come_back_and_may_be_missing(tmp_path: Path) -> None:
    model = Categorizer(analyser="words").fit(*TRAIN)
    model.save(tmp_path / "m")
    back = Categorizer.load(tmp_path / "m")
    assert back.state.decisions.midpoints.tolist() == model.state.decisions.midpoints.tolist()
    old = replace(model.state.decisions, midpoints=np.zeros(0))
    model.state.decisions = old
    model.save(tmp_path / "old")
    assert len(Categorizer.load(tmp_path / "old").state.decisions.midpoints) == 0
    moved = replace(old, thresholds=old.thresholds + 1)
    scores = np.ones((1, len(old.thresholds)), dtype=np.float32)
    assert (moved.probabilities(scores) < old.probabilities(scores)).all()


def test_the_tail_comes_back(tmp_path: Path) -> None:
    model = Categorizer(analyser="words").fit(*TRAIN)
    model.state.decisions = replace(model.state.decisions, tail=2.5)
    model.save(tmp_path / "m")
    assert Categorizer.load(tmp_path / "m").state.decisions.tail == 2.5


def replace_rivalry(model: Categorizer, share: float) -> Categorizer:
    model.state.decisions = replace(model.state.decisions, rivalry=np.full(len(model.categories), share))
    return model


def test_a_model_names_its_lemmatizers_and_refuses_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Categorizer(analyser="lemmas:de", min_count=1, preset="fast").fit(["Häuser", "Autos"] * 3, ["a", "b"] * 3)
    model.save(tmp_path / "m")
    about = read_model(tmp_path / "m").about
    assert about["lemmatizers"] == f"simplemma {version('simplemma')}"
    assert Categorizer.load(tmp_path / "m").digest() == model.digest()
    monkeypatch.setattr(lemmas, "version", lambda package: "9.9")
    with pytest.raises(ModelFileError, match=r"trained with simplemma \S+, and simplemma 9\.9 is installed \(pip inst"):
        Categorizer.load(tmp_path / "m")


def test_models_without_lemmas_name_no_lemmatizer(tmp_path: Path) -> None:
    Categorizer(preset="fast", min_count=1).fit(["oil", "wheat"], ["a", "b"]).save(tmp_path / "m")
    assert "lemmatizers" not in read_model(tmp_path / "m").about
    assert lemmas.list_lemmatizers("words+ngrams:2") == lemmas.list_lemmatizers("(mine.lemmas)") == ""
    english = f"lemminflect {version('lemminflect')}, textblob {version('textblob')}"
    assert lemmas.list_lemmatizers("nouns-and-verbs") == lemmas.list_lemmatizers("title+lemmas") == english


def test_a_model_without_known_lemmatizers_stays_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 0.1 does not name them: to name those that happen to be installed would be a guess."""
    model = Categorizer(analyser="lemmas:de", min_count=1, preset="fast").fit(["Häuser", "Autos"] * 3, ["a", "b"] * 3)
    model.state.lemmatizers = ""
    model.save(tmp_path / "old")
    monkeypatch.setattr(lemmas, "version", lambda package: "9.9")
    Categorizer.load(tmp_path / "old").save(tmp_path / "again")
    assert "lemmatizers" not in read_model(tmp_path / "again").about
