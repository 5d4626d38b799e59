"""The model file: what is written comes back, whole or not at all, and nothing in it is ever run."""

import ast
import errno
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from support.paths import ROOT
from thresher.errors import ModelFileError, ThresherError
from thresher.model_file.header import MAX_HEADER, MAX_VALUES, TYPES, make_metadata, read_header
from thresher.model_file.io import digest, read_model, write_model

SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "reproduction" / "src").rglob("*.py")])
SETTINGS = {"theta": 1.0, "threshold_range": [0.9, 1.1], "name": "Grüße 😀", "seed": 0, "average_active": None}
ABOUT = {"thresher": "0.1.0", "written": "2024-02-29"}
ARRAYS: dict[str, NDArray[Any]] = {
    "weights": np.array([[0.5, -1.5, 2.0], [np.nan, -0.0, np.inf]], dtype=np.float32),
    "counts": np.array([3, 1], dtype=np.int64),
    "kept": np.array([True, False, True]),
}
MB = 2**20


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "news.thresher"
    write_model(path, SETTINGS, ABOUT, ARRAYS)
    return path


def assert_same_arrays(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].dtype == right[name].dtype
        assert left[name].shape == right[name].shape
        assert left[name].tobytes() == right[name].tobytes()


# What is written comes back.


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 5), (5, 0, 2), (2, 3, 4)], ids=str)
def test_arrays_of_every_type_and_shape_come_back(tmp_path: Path, dtype: Any, shape: tuple[int, ...]) -> None:
    octets = np.random.default_rng(0).integers(0, 2 if dtype is np.bool_ else 256, 1000, dtype=np.uint8)
    array = np.resize(octets.view(dtype), shape)
    write_model(tmp_path / "m", {}, {}, {"a": array})
    assert_same_arrays(read_model(tmp_path / "m").arrays, {"a": array})


def test_settings_and_about_come_back(model: Path) -> None:
    loaded = read_model(model)
    assert loaded.settings == SETTINGS
    assert loaded.about == ABOUT
    assert_same_arrays(loaded.arrays, ARRAYS)


def test_a_model_without_arrays_comes_back(tmp_path: Path) -> None:
    write_model(tmp_path / "m", {}, {}, {})
    assert read_model(tmp_path / "m") == ({}, {}, {})


def test_views_and_foreign_byte_orders_come_back_as_plain_arrays(tmp_path: Path) -> None:
    grid = np.arange(24, dtype=np.int32).reshape(4, 6)
    odd = {"transposed": grid.T, "reversed": grid[::-1], "stepped": grid[:, ::3], "big-endian": grid.astype(">i4")}
    plain = {name: np.array(array, dtype=np.int32, order="C") for name, array in odd.items()}
    assert write_model(tmp_path / "m", {}, {}, odd) == digest({}, plain)
    assert_same_arrays(read_model(tmp_path / "m").arrays, plain)


def test_loaded_arrays_are_writeable_and_own_their_memory(model: Path) -> None:
    before = model.read_bytes()
    for array in read_model(model).arrays.values():
        assert array.flags.owndata
        assert array.flags.writeable
        assert array.dtype.isnative
        array[...] = 0
    assert model.read_bytes() == before


def test_a_model_can_be_saved_onto_the_path_it_was_loaded_from(model: Path) -> None:
    loaded = read_model(model)
    again = write_model(model, *loaded)
    assert again == digest(SETTINGS, ARRAYS)
    assert_same_arrays(loaded.arrays, ARRAYS)
    assert_same_arrays(read_model(model).arrays, ARRAYS)


def test_the_safetensors_library_reads_the_same_arrays(model: Path) -> None:
    assert_same_arrays(load_file(model), ARRAYS)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.tuples(st.sampled_from(sorted(TYPES.values())), st.lists(st.integers(0, 3), max_size=3)),
        max_size=8,
    )
)
def test_a_file_is_what_the_safetensors_library_would_write(kinds: dict[str, tuple[str, list[int]]]) -> None:
    draw = np.random.default_rng(1)
    arrays = {name: np.array(9 * draw.random(shape)).astype(kind) for name, (kind, shape) in kinds.items()}
    with TemporaryDirectory() as folder:
        mark = write_model(Path(folder, "m"), SETTINGS, ABOUT, arrays)
        assert Path(folder, "m").read_bytes() == save(arrays, make_metadata(mark, SETTINGS, ABOUT))


def test_the_bytes_of_one_model_are_those_of_the_safetensors_library(model: Path) -> None:
    settings = SETTINGS | {"name": "größer"}
    mark = write_model(model, settings, ABOUT, ARRAYS)
    written = model.read_bytes()
    assert written == save(ARRAYS, make_metadata(mark, settings, ABOUT))
    assert int.from_bytes(written[:8], "little") % 8 == 0, "arrays begin where a processor likes to read them"


def test_the_same_model_gives_the_same_bytes(model: Path) -> None:
    before = model.read_bytes()
    write_model(model, dict(reversed(SETTINGS.items())), dict(reversed(ABOUT.items())), dict(reversed(ARRAYS.items())))
    assert model.read_bytes() == before


# The digest.


def test_digest_is_that_of_the_file_and_ignores_order_and_about(model: Path) -> None:
    expected = digest(SETTINGS, ARRAYS)
    assert digest(dict(reversed(SETTINGS.items())), dict(reversed(ARRAYS.items()))) == expected
    assert write_model(model, SETTINGS, {"thresher": "9.9"}, ARRAYS) == expected
    assert digest(*read_model(model)[::2]) == expected


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        ({"theta": 1}, {}),
        ({"theta": 1.5}, {}),
        ({"beta": 0.5}, {}),
        ({}, {"counts": np.array([3, 2])}),
        ({}, {"counts": np.array([3, 1], dtype=np.int32)}),
        ({}, {"counts": np.array([3, 1]).view(np.float64)}),
        ({}, {"counts": np.array([[3, 1]])}),
        ({}, {"extra": np.zeros(0)}),
        ({}, {"kept": np.array([True, True, True])}),
        ({}, {"weights": np.abs(ARRAYS["weights"])}),
    ],
)
def test_digest_changes_with_every_part(settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    assert digest(SETTINGS | settings, ARRAYS | arrays) != digest(SETTINGS, ARRAYS)


def test_digest_changes_when_arrays_swap_names() -> None:
    a, b = np.zeros(2), np.ones(2)
    assert digest({}, {"a": a, "b": b}) != digest({}, {"a": b, "b": a})
    assert digest({}, {"a": a}) != digest({}, {"c": a})


# Whole or not at all.


def failing(error: BaseException) -> Callable[..., None]:
    def fail(*_: Any) -> None:
        raise error

    return fail


def flip_a_byte(descriptor: int) -> None:
    """Stand for a disk that says it has synced the file, and has changed it."""
    os.pwrite(descriptor, b"\xff", os.fstat(descriptor).st_size - 2)


@pytest.mark.parametrize(
    ("call", "action", "expected"),
    [
        ("fsync", failing(OSError(errno.EIO, "lost")), OSError),
        ("fsync", failing(KeyboardInterrupt()), KeyboardInterrupt),
        ("fsync", flip_a_byte, ModelFileError),
        ("replace", failing(OSError(errno.ENOSPC, "full")), OSError),
    ],
    ids=["sync fails", "interrupted", "disk lies", "rename fails"],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    model: Path, monkeypatch: pytest.MonkeyPatch, call: str, action: Any, expected: type[BaseException]
) -> None:
    before = model.read_bytes()
    monkeypatch.setattr(os, call, action)
    with pytest.raises(expected) as caught:
        write_model(model, {"theta": 2.0}, {}, ARRAYS)
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]
    if expected is not KeyboardInterrupt:
        assert str(model) in str(caught.value)
        assert ".tmp" not in str(caught.value)


def test_a_write_that_runs_out_of_room_leaves_the_old_file_and_nothing_else(model: Path) -> None:
    before = model.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MB, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_model(model, SETTINGS, ABOUT, {"a": np.zeros(2 * MB)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


def test_the_file_is_synced_before_the_rename_and_the_directory_after_it(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor: int) -> None:
        calls.append("sync directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        sync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        calls.append("rename")
        assert Path(source).parent == Path(target).parent
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_model(model, SETTINGS, ABOUT, ARRAYS)
    assert calls == ["sync file", "rename", "sync directory"]


def test_a_failed_sync_of_the_directory_is_reported_and_leaves_a_whole_file(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.support.atomic_file.sync_folder", failing(OSError(errno.EIO, "lost")))
    with pytest.raises(OSError, match="lost"):
        write_model(model, {"theta": 2.0}, {}, ARRAYS)
    assert read_model(model).settings == {"theta": 2.0}
    assert list(model.parent.iterdir()) == [model]


@pytest.mark.parametrize(
    ("umask", "old", "expected"), [(0o022, None, 0o644), (0o077, None, 0o600), (0o022, 0o600, 0o600)]
)
def test_permissions_follow_the_umask_and_the_file_replaced(
    tmp_path: Path, umask: int, old: int | None, expected: int
) -> None:
    path = tmp_path / "m"
    if old is not None:
        path.touch()
        path.chmod(old)
    before = os.umask(umask)
    try:
        write_model(path, {}, {}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == expected


def test_a_link_keeps_pointing_to_the_model_written(model: Path) -> None:
    link = model.with_name("current")
    link.symlink_to(model.name)
    write_model(link, {"theta": 2.0}, {}, {})
    assert link.is_symlink()
    assert read_model(model).settings == {"theta": 2.0}


# The writer obeys the reader's limits.


@pytest.mark.parametrize(
    ("settings", "about", "arrays", "message"),
    [
        ({"a": "x" * MAX_HEADER}, {}, {}, "header length"),
        ({}, {"a": [0] * MAX_VALUES}, {}, "more than"),
        ({"a": float("nan")}, {}, {}, "settings and about must be JSON values"),
        ({}, {"a": float("inf")}, {}, "settings and about must be JSON values"),
        ({"a": np.zeros(1)}, {}, {}, "settings and about must be JSON values"),
        ({"a": "\ud800"}, {}, {}, "JSON"),
        ({}, {"a": "\ud800"}, {}, "JSON"),
        ({}, {}, {"\ud800": np.zeros(1)}, "JSON"),
        ({}, {}, {"__metadata__": np.zeros(1)}, "occurs twice"),
        ({}, {}, {"a": np.array([None])}, r"object \(allowed: bool, uint8, int8, int32, int64, float32, float64\)"),
        ({}, {}, {"a": np.zeros(1, dtype=np.float16)}, "type float16"),
        ({}, {}, {"a": np.array(["x"])}, "type <U1"),
        ({}, {}, {"a": np.zeros((1,) * 33)}, "shape"),
    ],
)
def test_what_the_reader_would_refuse_is_not_written(
    model: Path, settings: dict[str, Any], about: dict[str, Any], arrays: dict[str, Any], message: str
) -> None:
    before = model.read_bytes()
    with pytest.raises(ModelFileError, match=message) as caught:
        write_model(model, settings, about, arrays)
    assert str(caught.value).startswith(f"{model}: ")
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


# What is no file, or cannot be opened.


def test_missing_files_and_directories_keep_their_own_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/m'$"):
        read_model(tmp_path / "nowhere" / "m")
    with pytest.raises(FileNotFoundError, match=r"nowhere/m'$"):
        write_model(tmp_path / "nowhere" / "m", {}, {}, {})
    (tmp_path / "directory").mkdir()
    with pytest.raises(IsADirectoryError):
        read_model(tmp_path / "directory")
    with pytest.raises(IsADirectoryError):
        write_model(tmp_path / "directory", {}, {}, {})
    assert list(tmp_path.iterdir()) == [tmp_path / "directory"]


def test_a_forbidden_file_keeps_its_own_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "open", failing(PermissionError(errno.EACCES, "Permission denied", str(model))))
    with pytest.raises(PermissionError, match=r"news\.thresher'$"):
        read_model(model)


def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ModelFileError, match="not a regular file"):
            read_model(path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        write_model(pipe, {}, {}, {})
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_file_that_becomes_shorter_while_it_is_read_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*arguments: Any) -> Any:
        os.truncate(model, model.stat().st_size - 1)
        return read_header(*arguments)

    write_model(model, SETTINGS, ABOUT, {"a": np.zeros(MB)})  # more than is read ahead
    monkeypatch.setattr("thresher.model_file.io.read_header", cut)
    with pytest.raises(ModelFileError, match=r"news\.thresher: the file became shorter while it was read"):
        read_model(model)


def test_an_error_without_a_text_of_its_own_keeps_its_number_and_its_name(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "open", failing(OSError("odd")))
    with pytest.raises(OSError, match="odd") as caught:
        read_model(model)
    assert (caught.value.errno, caught.value.filename) == (None, str(model))


def test_a_file_deleted_after_loading_leaves_the_model_alone(model: Path) -> None:
    loaded = read_model(model)
    model.unlink()
    assert_same_arrays(loaded.arrays, ARRAYS)


def test_refusals_are_value_errors_of_the_library() -> None:
    assert issubclass(ModelFileError, ThresherError)
    assert issubclass(ModelFileError, ValueError)


# Nothing in src/ runs what it reads.

PEERS = {"dask", "distributed"}  # they unpickle, and so run, what other processes of a cluster send
FORBIDDEN_MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", *PEERS}
FORBIDDEN_CALLS = {"eval", "exec", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "torch.load"}


def ways_to_run_code(source: str) -> list[str]:
    """Return the imports and calls of a module through which a file could run code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
            found += [name for name in names if name.split(".")[0] in FORBIDDEN_MODULES or name in FORBIDDEN_CALLS]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).removeprefix("builtins.")
            found += [called] if called in FORBIDDEN_CALLS or called.split(".")[0] in FORBIDDEN_MODULES else []
            found += [
                key.arg for key in node.keywords if key.arg == "allow_pickle" and ast.unparse(key.value) != "False"
            ]
    return found


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import joblib.numpy_pickle as store",
        "from dill import loads",
        "from distributed import Client",
        "eval('1')",
        "builtins.exec('1')",
        "yaml.load(file)",
        "from torch import load",
        "np.load(file, allow_pickle=True)",
        "np.load(file, allow_pickle=flag)",
    ],
)
def test_ways_to_run_code_are_found(source: str) -> None:
    assert len(ways_to_run_code(source)) == 1


def test_no_code_execution_in_src() -> None:
    for path in SOURCES:
        found = ways_to_run_code(path.read_text())
        if path.parent.name == "cluster":
            found = [name for name in found if name.split(".")[0] not in PEERS]
        assert found == [], path


def test_only_the_client_of_clusters_imports_dask() -> None:
    found = {path: [name.split(".")[0] for name in ways_to_run_code(path.read_text())] for path in SOURCES}
    importing = [(path.parent.name, path.name) for path, names in found.items() if PEERS & set(names)]
    assert importing == [("cluster", "clients.py")]


_IMPORT_OTHERS = """
import importlib, pkgutil, sys, thresher
for module in pkgutil.walk_packages(thresher.__path__, "thresher."):
    if not module.name.startswith(("thresher.cluster", "thresher.__main__")):
        importlib.import_module(module.name)
print("thresher.web.server" in sys.modules, sorted({"dask", "distributed"} & set(sys.modules)))
"""


def test_without_a_cluster_dask_is_not_imported() -> None:
    run = subprocess.run([sys.executable, "-c", _IMPORT_OTHERS], capture_output=True, text=True, timeout=120)
    assert run.stdout == "True []\n", run.stderr
