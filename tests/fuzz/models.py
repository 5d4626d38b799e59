"""What is asked of the reader of model files: a refusal in one line, or a model that works."""

from typing import Any

import numpy as np
from safetensors.numpy import save

from fuzz.readers import in_memory, one_line
from thresher import Categorizer
from thresher.errors import ModelFileError, TextError
from thresher.model_file import packing
from thresher.model_file.header import TYPES, make_metadata, read_header, read_header_length
from thresher.model_file.io import ModelFile, digest

TEXTS = ["wheat and corn rose", "crude oil, 漢字 größer", "", "wheat " * 50]


def model(data: bytes) -> None:
    """Read bytes as a model file; where their digest alone is wrong, it is put right, so that contents are checked."""
    found = contents_of(data)
    repaired = None if found is None else packed(found.settings, found.arrays, found.about)
    for file in {data, repaired or data}:
        load_and_use(file)


def load_and_use(data: bytes) -> bool:
    """Read a model file and use the model; returns whether it was taken. Only a ModelFileError refuses it."""
    with in_memory(data) as path:
        try:
            loaded = Categorizer.load(path, n_threads=1)
        except ModelFileError as error:
            one_line(error)
            return False
    use(loaded)
    return True


def contents_of(data: bytes) -> ModelFile | None:
    """Return what a model file holds, whatever its digest says; nothing where it cannot be read."""
    try:
        length = read_header_length(data[:16], len(data))
        manifest, spans = read_header(data[8 : 8 + length], len(data) - 8 - length)
    except ModelFileError:
        return None
    arrays = {}
    for span in spans:
        octets = data[8 + length + span.begin : 8 + length + span.end]
        arrays[span.name] = np.frombuffer(octets, dtype=TYPES[span.code]).reshape(span.shape)
    return ModelFile(manifest["settings"], manifest["about"], arrays)


def packed(settings: Any, arrays: Any, about: Any = None) -> bytes | None:
    """Return a model file of contents, whether or not they make sense; nothing where no file can hold them."""
    try:
        return save(arrays, metadata=make_metadata(digest(settings, arrays), settings, about or {}))
    except (ModelFileError, ValueError):
        return None


def use(loaded: Categorizer) -> None:
    """Do with a model that was loaded what is done with models; then it is saved, and comes back."""
    before = loaded.digest()
    if loaded.state.learner.is_fitted and loaded.categories:
        names = loaded.predict(TEXTS)
        assert all(name in loaded.categories for found in names for name in found)
        assert np.isfinite(loaded.decision_function(TEXTS)).all()
        probabilities = loaded.predict_proba(TEXTS)
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        loaded.explain(TEXTS[0])
    assert loaded.digest() == before
    try:
        loaded.learn(TEXTS[0], accept=["grain"], reject=[name for name in loaded.categories if name != "grain"][:2])
    except TextError as error:
        one_line(error)
    again = packed(*packing.pack(loaded.state))
    assert again is not None
    with in_memory(again) as path:
        assert Categorizer.load(path).digest() == loaded.digest()
