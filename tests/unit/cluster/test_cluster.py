"""Training and prediction on a Dask cluster of real processes: the same model, bit for bit, whatever befalls them."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from support.command_line import Run, said, thresher
from support.corpora import Corpus, made_up
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.errors import DataError, ParameterError, TextError
from thresher.evaluation import evaluate
from thresher.support.progress import Step

pytest.importorskip("distributed", reason="needs the extra cluster: pip install 'thresher-text[cluster]'")

import dask
import psutil  # type: ignore[import-untyped]
from distributed import Client, Security
from distributed.core import rpc
from distributed.protocol.pickle import dumps

from support.certificates import make_certificate
from thresher.cli.cluster_options import connect_cluster
from thresher.cli.console import Shell
from thresher.cli.options import ClusterOptions
from thresher.cluster import prediction
from thresher.cluster.clients import Cluster, ClusterError, tls_security
from thresher.cluster.partitions import partitions_of
from thresher.cluster.training import fit

# What Dask itself leaves open at its ends is not ours to close.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
N_PARTS = 5
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"preset": "paper", "min_count": 1},
    "fast": {"preset": "fast"},
    "default": {"preset": "default"},
    "sparse": {"preset": "fast", "sparse": True},
    "perceptron": {"preset": "paper", "learner": "perceptron", "average": True, "shuffle": True},
    "positive": {"preset": "paper", "learner": "positive-winnow", "normalize": True},
    "titles": {"preset": "fast", "analyser": "words+ngrams:2+title", "max_features": 500},
}


def corpus() -> Corpus:
    """Return texts with enough noise in their categories that no learner ends soon."""
    made = made_up(400)
    return Corpus(made.texts, [[*names, "odd"] if i % 7 == 0 else names for i, names in enumerate(made.categories)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of JSON lines, a file a partition."""
    made, path = corpus(), tmp_path_factory.mktemp("corpus")
    cuts = np.linspace(0, len(made.texts), N_PARTS + 1).astype(int).tolist()
    for i in range(N_PARTS):
        pairs = zip(made.texts[cuts[i] : cuts[i + 1]], made.categories[cuts[i] : cuts[i + 1]], strict=True)
        lines = [json.dumps({"text": text, "categories": names}) for text, names in pairs]
        (path / f"part-{i}.jsonl").write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster("local", n_workers=2) as found:
        yield found


def here(**settings: Any) -> Categorizer:
    return Categorizer(**settings).fit(*corpus())


@pytest.mark.parametrize("name", SETTINGS)
def test_a_cluster_learns_what_one_machine_learns(name: str, folder: Path, cluster: Cluster) -> None:
    found = fit(Categorizer(**SETTINGS[name]), partitions_of(str(folder)), cluster)
    local = here(**SETTINGS[name])
    assert found.digest() == local.digest()
    assert found.state.trials == local.state.trials


@pytest.mark.parametrize("n_workers", [1, 4])
def test_the_number_of_processes_changes_nothing(n_workers: int, folder: Path) -> None:
    with Cluster("local", n_workers=n_workers) as some:
        assert some.n_threads == n_workers
        found = fit(Categorizer(**SETTINGS["fast"]), partitions_of(str(folder)), some)
    assert found.digest() == here(**SETTINGS["fast"]).digest()


def test_how_documents_are_partitioned_changes_nothing(folder: Path, tmp_path: Path, cluster: Cluster) -> None:
    whole = tmp_path / "whole.jsonl"
    whole.write_text("\n".join(file.read_text() for file in sorted(folder.iterdir())))
    parts = partitions_of(str(whole), size=77)
    assert len(parts) == 6
    assert fit(Categorizer(preset="fast"), parts, cluster).digest() == here(preset="fast").digest()


def test_partitions_without_documents_or_features_change_nothing(
    folder: Path, tmp_path: Path, cluster: Cluster
) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "part-00.jsonl").write_text("")
    (tmp_path / "part-1a.jsonl").write_text('{"text": "...", "categories": []}\n')
    made = corpus()
    texts, categories = (
        [*made.texts[:160], "...", *made.texts[160:]],
        [*made.categories[:160], [], *made.categories[160:]],
    )
    for settings in (SETTINGS["fast"], SETTINGS["default"]):
        found = fit(Categorizer(**settings), partitions_of(str(tmp_path)), cluster)
        assert found.digest() == Categorizer(**settings).fit(texts, categories).digest()


def test_a_worker_that_is_killed_while_rows_are_made_changes_nothing(folder: Path) -> None:
    killed: list[int] = []
    with Cluster("local", n_workers=2) as some:
        pids = list(some.client.run(os.getpid).values())

        def kill(step: Step) -> None:
            if step.stage in ("make rows", "count features") and step.done == step.total - 1:
                killed.append(pids.pop() if pids else 0)
                if killed[-1]:
                    os.kill(killed[-1], signal.SIGKILL)

        found = fit(Categorizer(**SETTINGS["fast"]), partitions_of(str(folder)), some, progress=kill)
    assert len(killed) >= 2
    assert found.digest() == here(**SETTINGS["fast"]).digest()


def test_a_worker_that_is_killed_during_a_pass_changes_nothing() -> None:
    settings: dict[str, Any] = {"preset": "paper", "min_count": 1, "max_passes": 20_000, "discard": False}
    made, killed = corpus(), list[int]()
    texts, categories = (
        [*made.texts, "oil", "oil"],
        [*made.categories, ["energy"], ["odd"]],
    )  # which nobody can tell apart
    pairs = [list(zip(texts[first::2], categories[first::2], strict=True)) for first in range(2)]
    with Cluster("local", n_workers=2) as some:
        pids = some.client.run(os.getpid)

        def kill_who_trains() -> None:
            busy = [worker for worker, tasks in some.client.processing().items() if "train" in str(tasks)]
            killed.extend(pids[worker] for worker in busy)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

        def watch(step: Step) -> None:
            if step.stage == "make strengths" and step.done == step.total:
                threading.Timer(0.3, kill_who_trains).start()

        found = fit(Categorizer(**settings), pairs, some, progress=watch)
        deadline, now = time.monotonic() + 30, set(killed)
        while len(now - set(killed)) < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
            now = {pid for pid in some.client.run(os.getpid, on_error="ignore").values() if isinstance(pid, int)}
    assert killed
    assert len(now - set(killed)) == 2, "another one has joined"
    local = Categorizer(**settings).fit([t for part in pairs for t, _ in part], [c for part in pairs for _, c in part])
    assert found.digest() == local.digest()


def test_bags_and_dataframes_are_partitions_too(cluster: Cluster) -> None:
    import dask.bag
    import dask.dataframe
    import pandas as pd  # type: ignore[import-untyped]

    made = corpus()
    bag = dask.bag.from_sequence(zip(made.texts, made.categories, strict=True), npartitions=3)
    frame = pd.DataFrame({"text": made.texts, "categories": made.categories})
    table = dask.dataframe.from_pandas(frame.assign(categories=frame["categories"].map("|".join)), npartitions=2)
    for parts in (bag.to_delayed(), table.to_delayed()):
        assert fit(Categorizer(preset="fast"), list(parts), cluster).digest() == here(preset="fast").digest()
    listed = dask.dataframe.from_pandas(frame, npartitions=2)
    with pytest.raises(DataError, match="convert-string"):
        fit(Categorizer(preset="fast"), list(listed.to_delayed()), cluster)


def test_data_that_cannot_be_learned_is_refused_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "oil", "categories": []}\n')
    with pytest.raises(TextError, match="no categories"):
        fit(Categorizer(), partitions_of(str(tmp_path)), cluster)
    with pytest.raises(ClusterError, match="no scheduler answers"):
        Cluster("tcp://127.0.0.1:1")


def test_a_link_to_a_file_outside_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "oil", "categories": ["energy"]}\n')
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")
    assert len(partitions_of(str(tmp_path))) == 2
    (tmp_path / "c.jsonl").symlink_to(next(folder.iterdir()))
    with pytest.raises(DataError, match=r"c\.jsonl is a link to a file outside of the folder"):
        partitions_of(str(tmp_path))


# -- prediction and evaluation -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "news.thresher"
    here(preset="fast").save(path)
    return path


def test_predictions_equal_those_of_one_machine_and_can_be_resumed(
    model: Path, folder: Path, cluster: Cluster, tmp_path: Path, called: Run
) -> None:
    parts, output = partitions_of(str(folder)), tmp_path / "found"
    assert prediction.predict(model, parts, cluster, output) == [80] * N_PARTS
    lines = [line for file in sorted(output.glob("part-*.jsonl")) for line in file.read_text().splitlines()]
    ended = called("predict", model, *sorted(folder.iterdir()), "-o", tmp_path / "here.jsonl")
    assert ended.code == 0, ended.err
    assert lines == (tmp_path / "here.jsonl").read_text().splitlines()
    (output / "part-00002.jsonl").unlink()
    assert prediction.predict(model, parts, cluster, output) == [-1, -1, 80, -1, -1]
    here(preset="paper", min_count=1).save(tmp_path / "other.thresher")
    with pytest.raises(ClusterError, match="another model or other documents"):
        prediction.predict(model, parts, cluster, output, top=2)
    with pytest.raises(ClusterError, match="another model"):
        prediction.predict(tmp_path / "other.thresher", parts, cluster, output)


def test_evaluation_equals_that_of_one_machine(model: Path, folder: Path, cluster: Cluster) -> None:
    documents = [document for file in sorted(folder.iterdir()) for document in read_documents(file)]
    local = evaluate(Categorizer.load(model), [*documents, Document("oil", ("unknown",))])
    (folder / "part-9.jsonl").write_text('{"text": "oil", "categories": ["unknown"]}\n')
    try:
        found = prediction.evaluate(model, partitions_of(str(folder)), cluster)
    finally:
        (folder / "part-9.jsonl").unlink()
    assert found.summary() == local.summary()


# -- processes started by hand -----------------------------------------------------------------------------------------

_WITHOUT = """
import importlib.metadata as metadata
real = metadata.version
def version(name):
    if name == "thresher-text":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
from distributed.cli.dask_worker import main
main()
"""


@contextmanager
def running(*command: str, until: str) -> Iterator[str]:
    """Run a command while the block runs; gives its first line that holds some text."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        try:
            found = next(line for line in lines if until in line)
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield found
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()


def test_workers_without_thresher_are_named(folder: Path, tmp_path: Path) -> None:
    port = str(20000 + os.getpid() % 10000)
    address = f"tcp://127.0.0.1:{port}"
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port]
    worker = [
        sys.executable,
        "-c",
        _WITHOUT,
        address,
        "--no-nanny",
        "--no-dashboard",
        "--local-directory",
        str(tmp_path),
    ]
    with (
        running(*scheduler, "--no-dashboard", until="Scheduler at"),
        running(*worker, until="Registered to"),
    ):
        ended = thresher("train", folder, "-o", tmp_path / "a.thresher", "--cluster", address, "-q")
    said(ended, 65, "has no thresher-text", "pip install thresher-text==")
    assert not (tmp_path / "a.thresher").exists()


_THERE = """
import sys
from thresher import Categorizer
from thresher.cluster.clients import Cluster
from thresher.cluster.partitions import partitions_of
from thresher.cluster.training import fit
with Cluster(sys.argv[1]) as cluster:
    print("hosts", len({worker.split(":")[1] for worker in cluster.client.nthreads()}))
    print("digest", fit(Categorizer(preset="fast"), partitions_of(sys.argv[2]), cluster, sys.argv[3]).digest())
"""


@contextmanager
def hosts(count: int) -> Iterator[list[str]]:
    """Make network namespaces that are joined by a bridge; host i has the address 10.87.0.i."""
    mark = f"{os.getpid() % 100000}"
    names, bridge = [f"thr{mark}h{i}" for i in range(1, count + 1)], f"thr{mark}b"

    def ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)

    try:
        try:
            ip("link", "add", bridge, "type", "bridge")
            ip("link", "set", bridge, "up")
            for i, name in enumerate(names, 1):
                ip("netns", "add", name)
                ip("link", "add", f"v{mark}o{i}", "type", "veth", "peer", "name", f"v{mark}i{i}")
                ip("link", "set", f"v{mark}o{i}", "master", bridge, "up")
                ip("link", "set", f"v{mark}i{i}", "netns", name)
                ip("-n", name, "addr", "add", f"10.87.0.{i}/24", "dev", f"v{mark}i{i}")
                ip("-n", name, "link", "set", f"v{mark}i{i}", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"this machine cannot make network namespaces: {error}")
        yield names
    finally:
        for name in names:
            with suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], capture_output=True)
        with suppress(OSError):
            subprocess.run(["ip", "link", "del", bridge], capture_output=True)


def test_three_hosts_learn_what_one_learns(folder: Path, tmp_path: Path) -> None:
    with hosts(3) as (first, second, third):

        def at(host: str, *command: str) -> list[str]:
            return ["ip", "netns", "exec", host, sys.executable, *command]

        address, worker = "tcp://10.87.0.1:8786", ["-m", "distributed.cli.dask_worker", "tcp://10.87.0.1:8786"]
        more = ["--no-dashboard", "--nthreads", "1", "--local-directory", str(tmp_path)]
        scheduler = at(first, "-m", "distributed.cli.dask_scheduler", "--host", "10.87.0.1", "--port", "8786")
        with (
            running(*scheduler, "--no-dashboard", until="Scheduler at"),
            running(*at(second, *worker, "--host", "10.87.0.2", *more), until="Registered to"),
            running(*at(third, *worker, "--host", "10.87.0.3", *more), until="Registered to"),
        ):
            ended = subprocess.run(
                at(first, "-c", _THERE, address, str(folder), str(tmp_path)),
                capture_output=True,
                text=True,
                timeout=120,
            )
    assert ended.returncode == 0, ended.stderr
    record = dict(line.split() for line in ended.stdout.splitlines())
    assert record == {"hosts": "2", "digest": here(preset="fast").digest()}


# -- who can join a local cluster --------------------------------------------------------------------------------------


def processes() -> list[psutil.Process]:
    """Return this process, which has the scheduler and the nannies, and its children, but for those started by hand."""
    own = psutil.Process()
    children = [child for child in own.children() if "distributed.cli" not in str(child.cmdline())]
    return [own, *children, *(below for child in children for below in child.children(recursive=True))]


def listening() -> list[tuple[str, int]]:
    """Return the addresses and ports at which these processes wait for connections."""
    sockets = [socket for process in processes() for socket in process.net_connections("inet")]
    return [tuple(socket.laddr) for socket in sockets if socket.status == psutil.CONN_LISTEN]


def test_a_local_cluster_listens_on_this_machine_alone(cluster: Cluster) -> None:
    found = listening()
    assert len(found) >= 5, "a scheduler, two nannies, two workers"
    assert {host for host, _ in found} <= {"127.0.0.1", "::1"}


def test_a_local_cluster_has_no_dashboard(cluster: Cluster) -> None:
    """Those of Dask show logs and arguments of tasks, and so texts, to everyone who asks."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for host, port in listening():
        for page in ("status", "info/main/workers.html", "json/identity.json", "health", "metrics"):
            with pytest.raises(OSError) as refused:
                opener.open(f"http://{host}:{port}/{page}", timeout=10)
            if isinstance(refused.value, urllib.error.HTTPError):
                assert refused.value.code == 404
                refused.value.close()
    assert cluster.dashboard == ""


async def make_file_there(address: str, verb: str, security: Security, path: Path) -> None:
    """Have a process of a cluster run a function, as its peers do."""
    async with rpc(address, timeout=5, connection_args=security.get_connection_args("client")) as there:
        await getattr(there, verb)(function=dumps(Path.touch), args=dumps((path,)))


def test_a_client_without_the_certificate_runs_nothing_on_a_local_cluster(cluster: Cluster, tmp_path: Path) -> None:
    client = cluster.client
    workers = client.scheduler_info(n_workers=-1)["workers"]
    places = [(client.scheduler.address, "run_function")]
    places += [(place, "run") for name, worker in workers.items() for place in (name, worker["nanny"])]
    assert len(places) == 5
    for i, (address, verb) in enumerate(places):
        asyncio.run(make_file_there(address, verb, client.security, tmp_path / f"own-{i}"))
        assert (tmp_path / f"own-{i}").exists(), "its own client can"
        plain = "tcp://" + address.partition("://")[2]
        for other, security in ((plain, Security()), (address, Security.temporary())):
            with pytest.raises(OSError):
                asyncio.run(make_file_there(other, verb, security, tmp_path / "other"))
            with pytest.raises(OSError):
                Client(other, security=security, timeout=2, set_as_default=False)
    assert not (tmp_path / "other").exists()


def test_the_key_of_a_local_cluster_is_in_no_command_line_or_environment(cluster: Cluster) -> None:
    key = cluster.client.security.tls_client_key
    line = key.splitlines()[1].encode()
    for process in processes():
        for name in ("cmdline", "environ"):
            assert line not in Path(f"/proc/{process.pid}/{name}").read_bytes()


def test_only_the_user_can_access_the_files_of_a_local_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask unpickles and imports what is there, so nobody else may write; a key is in a file while it is loaded."""
    others = tmp_path / "dask-scratch-space"
    others.mkdir()
    others.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    load, modes = ssl.SSLContext.load_cert_chain, set[int]()

    def noted(context: ssl.SSLContext, cert: str, key: str) -> None:
        modes.update(Path(file).parent.stat().st_mode & 0o777 for file in (cert, key))
        load(context, cert, key)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", noted)
    with Cluster("local", n_workers=1) as some:
        folders = some.client.run(lambda dask_worker: dask_worker.local_directory).values()
        for folder in folders:
            first = tmp_path / Path(folder).relative_to(tmp_path).parts[0]
            assert (first.stat().st_mode & 0o777, first.stat().st_uid) == (0o700, os.geteuid())
        assert str(others) not in sys.path
        monkeypatch.setattr(sys, "path", [str(tmp_path / "more"), *sys.path])
    assert not [path for path in sys.path if "dask-scratch-space" in path and str(tmp_path) in path]
    assert modes == {0o700}
    assert [path.name for path in tmp_path.iterdir()] == [others.name]
    assert not any(others.iterdir())


def test_a_local_cluster_takes_no_credentials() -> None:
    with pytest.raises(ParameterError, match="creates its own"):
        Cluster("local", security=Security())


# -- schedulers with TLS -----------------------------------------------------------------------------------------------


class Secured(NamedTuple):
    """A scheduler with TLS and one without; a folder of certificates, some from the scheduler's authority."""

    tls: str
    tcp: str
    folder: Path

    def options(self, ca: str = "ca.pem", cert: str = "own.pem", key: str = "own.key") -> list[str | Path]:
        """Return the options that name these files."""
        return [
            "--cluster-ca", self.folder / ca, "--cluster-cert", self.folder / cert, "--cluster-key", self.folder / key,
        ]  # fmt: skip


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = make_certificate(folder, "ca"), make_certificate(folder, "other-ca")
    own = make_certificate(folder, "own", authority)
    make_certificate(folder, "other", other)
    files = [f"--tls-ca-file={authority.path}", f"--tls-cert={own.path}", f"--tls-key={own.key_path}"]
    node = [sys.executable, "-m"]
    more = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    with ExitStack() as stack:

        def start(*command: str) -> str:
            return stack.enter_context(running(*node, *command, *more, until="Scheduler at")).split()[-1]

        tcp = start("distributed.cli.dask_scheduler", "--port", "0")
        tls = start("distributed.cli.dask_scheduler", "--port", "0", "--protocol", "tls", *files)
        worker = ["distributed.cli.dask_worker", tls, *files, "--nthreads", "1", "--local-directory", str(folder)]
        stack.enter_context(running(*node, *worker, *more, until="Registered to"))
        yield Secured(tls, tcp, folder)


def test_the_command_line_trains_on_a_cluster_with_tls(folder: Path, tmp_path: Path, secured: Secured) -> None:
    model = tmp_path / "there.thresher"
    there = ["--cluster", secured.tls, *secured.options()]
    ended = thresher("train", folder, "-o", model, "--preset", "fast", "--json", *there)
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert record["digest"] == here(preset="fast").digest()
    assert [worker.partition("://")[0] for worker in record["worker_peak_memory"]] == ["tls"]
    assert "warning" not in ended.err
    ended = thresher("predict", model, folder, "-o", tmp_path / "found", "--json", *there)
    assert json.loads(ended.out)["documents"] == 400


def test_credentials_come_from_the_configuration_of_dask_too(model: Path, folder: Path, secured: Secured) -> None:
    files = {"ca-file": "ca.pem", "client.cert": "own.pem", "client.key": "own.key"}
    settings = {f"distributed.comm.tls.{name}": str(secured.folder / file) for name, file in files.items()}
    variables: dict[str, str | None] = {
        f"DASK_{name.replace('.', '__').replace('-', '_').upper()}": file for name, file in settings.items()
    }
    ended = thresher("evaluate", model, folder, "--cluster", secured.tls, "--json", env=variables)
    assert ended.code == 0, ended.err
    with dask.config.set(settings), pytest.raises(FileNotFoundError, match=r"missing\.pem"):
        Cluster(secured.tls, security=tls_security(cert=secured.folder / "missing.pem"))


@pytest.mark.parametrize(
    ("files", "code", "parts"),
    [
        ({"ca": "missing.pem"}, 66, ["missing.pem: No such file"]),
        ({"key": "missing.key"}, 66, ["missing.key: No such file"]),
        ({"ca": "own.key"}, 65, ["own.key: contains no certificate", "PEM"]),
        ({"key": "other.key"}, 65, ["own.pem: cannot be used with the key", "other.key", "own key"]),
        ({"cert": "other.pem", "key": "other.key"}, 65, ["refused your certificate", "CA has signed"]),
        ({"ca": "other-ca.pem"}, 65, ["scheduler's certificate is not valid", "the CA file of the cluster"]),
    ],
)
def test_invalid_credentials_are_refused_in_one_line(
    files: dict[str, str], code: int, parts: list[str], folder: Path, tmp_path: Path, secured: Secured
) -> None:
    there = ["--cluster", secured.tls, *secured.options(**files)]
    said(thresher("train", folder, "-o", tmp_path / "a.thresher", *there), code, *parts)


def test_a_scheduler_that_does_or_does_not_use_tls_is_named_in_one_line(
    folder: Path, tmp_path: Path, secured: Secured
) -> None:
    train: list[str | Path] = ["train", folder, "-o", tmp_path / "a.thresher", "--cluster"]
    plain, there = secured.tcp.replace("tcp://", "tls://"), secured.tls.replace("tls://", "tcp://")
    said(thresher(*train, plain, *secured.options()), 65, "does not use TLS", "--protocol tls")
    said(thresher(*train, there), 65, "closed the connection", "tls://")
    said(thresher(*train, secured.tls), 65, "no credentials for TLS", "CA file", "distributed.comm.tls")
    encrypted: dict[str, str | None] = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    said(thresher(*train, secured.tcp, env=encrypted), 65, "encryption required", "tls://")
    said(thresher(*train, "tls://head"), 65, "not the address of a scheduler", "tls://host:8786")
    said(thresher(*train, secured.tcp, *secured.options()), 2, "--cluster-ca", "tls://HOST:PORT")
    said(thresher(*train[:-1], "--cluster-ca", secured.folder / "ca.pem"), 2, "--cluster tls://HOST:PORT")


def test_a_scheduler_without_tls_is_warned_about(secured: Secured, capsys: pytest.CaptureFixture[str]) -> None:
    with connect_cluster(Shell(json=True, quiet=False), ClusterOptions(secured.tcp)):
        lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if secured.tcp in line and "has no TLS" in line and "run code" in line] == lines[:1]
    with connect_cluster(Shell(json=True, quiet=True), ClusterOptions(secured.tcp)):
        assert capsys.readouterr().err == ""
    files = (secured.folder / "ca.pem", secured.folder / "own.pem", secured.folder / "own.key")
    with connect_cluster(Shell(json=True, quiet=False), ClusterOptions(secured.tls, *files)):
        assert "warning" not in capsys.readouterr().err


# -- the command line --------------------------------------------------------------------------------------------------


def test_the_command_line_trains_evaluates_and_predicts_there(folder: Path, tmp_path: Path, called: Run) -> None:
    model = tmp_path / "there.thresher"
    ended = called("train", folder, "-o", model, "--preset", "fast", "--cluster", "local", "--json")
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert (record["digest"], record["partitions"]) == (here(preset="fast").digest(), N_PARTS)
    assert min(record["worker_peak_memory"].values()) > 10**7
    ended = called("predict", model, folder, "--cluster", "local", "-o", tmp_path / "found", "--json")
    assert json.loads(ended.out)["documents"] == 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "F", "-o", "O", "--cluster", "local", "--folds", "3"], "--folds"),
        (["train", "F", "-o", "O", "--shared", "S"], "--cluster"),
        (["predict", "O", "F", "--cluster", "local"], "folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    folder: Path, tmp_path: Path, called: Run, arguments: list[str], message: str
) -> None:
    places = {"F": str(folder), "O": str(tmp_path / "o.thresher")}
    said(called(*(places.get(argument, argument) for argument in arguments)), 2, message)
