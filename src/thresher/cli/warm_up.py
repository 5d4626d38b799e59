"""`thresher warm-up`: compile the kernels now, so that no later command waits for it."""

import tempfile
import time
from pathlib import Path

from thresher.cli.console import Shell

_PRESETS = ("default", "fast", "paper")


def warm_up(shell: Shell) -> None:
    """Compile what training, prediction and the service need, once for this machine and version.

    thresher warm-up
    """
    from thresher.categorizer import Categorizer
    from thresher.datasets.reader import read_documents
    from thresher.model.compile_ahead import start_compiling

    start = time.perf_counter()
    start_compiling()
    documents = list(read_documents("sample:train"))
    texts, categories = [one.content for one in documents], [one.categories for one in documents]
    for preset in _PRESETS:
        shell.remark(f"compiling for the preset {preset} ...")
        model = Categorizer(preset=preset).fit(texts, categories)
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder, "model"))
            model = Categorizer.load(Path(folder, "model"))
        model.predict(texts)
        model.explain(texts[0])
        model.learn("a new word in a new category", accept=["new category"])
        list(model.stream([(texts[0], categories[0])]))
    seconds = time.perf_counter() - start
    shell.answer({"seconds": round(seconds, 1)}, f"Compiled in {seconds:.1f} s: later commands start at once")
