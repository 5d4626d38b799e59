"""Models of every released version load and predict as they did; a file of the future is refused in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from thresher import Categorizer

MODELS = sorted((Path(__file__).parent / "golden").glob("v*/*.thresher"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_old_model_predicts_as_it_did(path: Path) -> None:
    texts = json.loads((path.parent / "texts.json").read_text())
    expected = json.loads(path.with_suffix(".json").read_text())
    model = Categorizer.load(path)
    assert model.digest() == expected["digest"]
    assert model.predict(texts) == expected["predictions"]
    np.testing.assert_array_equal(model.decision_function(texts, raw=True)[:10], np.array(expected["scores"]))


def test_there_are_models_of_this_version() -> None:
    assert len(MODELS) >= 4
