"""Edit the categories of a model without retraining: add, rename, merge, retire, set thresholds."""

from collections.abc import Sequence
from dataclasses import replace

from thresher.datasets.category_names import normalize_categories
from thresher.errors import TextError
from thresher.model.online_learning import check_room, teach_young
from thresher.model.reservoir import make_rows
from thresher.model.state import ModelState
from thresher.rows.labels import as_labels


def add(model: ModelState, category: str) -> None:
    """Add a category without training documents."""
    name = normalize_categories([category])[0]
    if name in model.categories:
        raise TextError("category {name} exists already", name=name)
    check_room(model, len(model.categories) + 1)
    if model.learner.is_fitted:
        nothing = make_rows([], model.features.vocabulary.count)
        model.learner.learn_rows(nothing, as_labels([], 0), len(model.categories) + 1)
    model.categories = [*model.categories, name]
    model.decisions = model.decisions.add_categories(1, model.settings.parameters.theta, 1.0)


def set_threshold(model: ModelState, category: str, threshold: float) -> None:
    """Set the threshold of a category."""
    number = model.number_of(category)
    thresholds = model.decisions.thresholds.copy()
    thresholds[number] = threshold
    model.decisions = replace(model.decisions, thresholds=thresholds)


def rename(model: ModelState, old: str, new: str) -> None:
    """Rename a category."""
    number, name = model.number_of(old), normalize_categories([new])[0]
    if name in model.categories and name != old:
        raise TextError("category {name} exists already", name=name, hint="merge_categories joins two")
    model.categories = [name if i == number else other for i, other in enumerate(model.categories)]


def retire(model: ModelState, category: str) -> None:
    """Remove a category."""
    number = model.number_of(category)
    _keep(model, [c for c in range(len(model.categories)) if c != number])


def merge(model: ModelState, sources: Sequence[str], into: str) -> None:
    """Merge categories, and teach the merged one the documents in the reservoir again."""
    numbers = sorted({model.number_of(name) for name in normalize_categories(sources)})
    name = normalize_categories([into])[0]
    if len(numbers) < 2:
        raise TextError("merging takes at least two categories")
    if name in model.categories and model.number_of(name) not in numbers:
        raise TextError("category {name} exists already and is not one of those merged", name=name)
    first = numbers[0]
    if model.learner.is_fitted:
        model.learner.merge(numbers)
    joined = {c: first if c in numbers else c for c in range(len(model.categories))}
    model.reservoir = model.reservoir.renumber_categories(joined)
    model.categories = [name if c == first else other for c, other in enumerate(model.categories)]
    _keep(model, [c for c in range(len(model.categories)) if c not in numbers[1:]])
    if model.reservoir.documents:
        teach_young(model, {first}, first, model.reservoir.documents[-1:])


def _keep(model: ModelState, numbers: list[int]) -> None:
    if model.learner.is_fitted:
        model.learner.select(numbers)
    model.decisions = model.decisions.select_categories(numbers)
    model.categories = [model.categories[c] for c in numbers]
    model.reservoir = model.reservoir.renumber_categories({old: new for new, old in enumerate(numbers)})
