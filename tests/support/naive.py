"""The paper's rules as a reader would write them, with dicts and plain loops, one category at a time.

Arithmetic is float32 where the paper computes weights and scores and float64 where it averages, written out operation
by operation, so that the kernels can be held to the same bits.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from math import factorial
from typing import Any

import numpy as np

f32 = np.float32
LARGEST, SMALLEST = f32(2.0**60), f32(2.0**-60)

Document = dict[int, float]


def strengths(counts: Document, strength: str, normalize: bool) -> dict[int, np.float32]:
    """s(f, d) of section 4.3, then divided by their sum as in section 4.1."""

    def rule(n: float) -> np.float32:
        return f32({"binary": f32(1), "linear": f32(n), "sqrt": np.sqrt(f32(abs(n)))}[strength])

    found = {feature: rule(n) for feature, n in sorted(counts.items()) if f32(n) != 0}
    if normalize:
        total = 0.0
        for s in found.values():
            total += float(s)
        found = {feature: f32(float(s) / total) for feature, s in found.items()}
    return found


def clamp(weight: np.float32) -> np.float32:
    return min(max(weight, SMALLEST), LARGEST)


ROUNDER, LN2_HIGH, LN2_LOW, LOG2_E = (
    1.5 * 2.0**52,
    6.93147180369123816490e-01,
    1.90821492927058770002e-10,
    1.442695040888963387,
)


def exponential(x: float) -> float:
    """e to the power of x, within +-40: x = k ln 2 + r, and eleven terms for r."""
    x = min(max(x, -40.0), 40.0)
    twos = (x * LOG2_E + ROUNDER) - ROUNDER
    r = (x - twos * LN2_HIGH) - twos * LN2_LOW
    series = 1.0 / factorial(11)
    for term in range(10, -1, -1):
        series = series * r + 1.0 / factorial(term)
    return float(series * 2.0**twos)


class Category:
    """One category's weights and its run through the documents."""

    def __init__(self, name: str, settings: Mapping[str, Any], d: float, n_features: int) -> None:
        self.name, self.settings, self.d = name, settings, d
        self.theta = f32(settings["theta"])
        base = settings["theta"] if settings["normalize"] else settings["theta"] / d
        self.alpha = base if settings.get("alpha") is None else settings["alpha"]
        self.start = (f32(2 * base), f32(base)) if name == "BalancedWinnow" else (f32(base), f32(0))
        if name == "RegularizedWinnow":
            self.start = (f32(settings["size"]), f32(settings["size"]))
        self.duals: dict[int, np.float32] = {}
        self.positive: dict[int, np.float32] = {}
        self.negative: dict[int, np.float32] = {}
        self.dropped: set[int] = set()
        self.late: set[int] = set()
        self.moment: dict[int, float] = {}
        self.examples = self.positives = 0
        self.grow(n_features)

    def grow(self, n_features: int, late: bool = False) -> None:
        for feature in range(len(self.positive), n_features):
            self.positive[feature], self.negative[feature] = self.start
            self.moment[feature] = 0.0
            if late:
                self.late.add(feature)

    def forget_dropped(self) -> None:
        """Let dropped features count as not met, as where only the weights of met ones are kept."""
        for feature in self.dropped:
            self.positive[feature], self.negative[feature] = self.start
        self.late |= self.dropped
        self.dropped = set()

    def weight(self, feature: int) -> np.float32:
        """The weight of a feature: w, or w+ - w-."""
        if feature in self.dropped | self.late:
            return f32(0)
        return f32(self.positive[feature] - self.negative[feature])

    def mean_weight(self, feature: int) -> np.float32:
        """The weight's mean over the examples seen, from the changes and the steps at which they happened."""
        if not self.settings["average"] or self.examples == 0:
            return self.weight(feature)
        return f32(float(self.weight(feature)) - self.moment[feature] / float(self.examples))

    def score(self, document: dict[int, np.float32], mean: bool = False) -> np.float32:
        total = f32(0)
        for feature, strength in document.items():
            total = f32(total + f32(strength * (self.mean_weight(feature) if mean else self.weight(feature))))
        return total

    def final_score(self, document: dict[int, np.float32]) -> np.float32:
        """A category without a positive example accepts nothing."""
        score = self.score(document, mean=True)
        return min(score, self.theta) if self.positives == 0 else score

    def errs(self, score: np.float32, label: int) -> bool:
        if self.settings["threshold_range"] is None:
            return bool(score <= self.theta) if label > 0 else bool(score > self.theta)
        low, high = (f32(limit) for limit in self.settings["threshold_range"])
        return bool(score <= high) if label > 0 else bool(score >= low)

    def step(self, weights: dict[int, np.float32], feature: int, up: bool, times: float) -> None:
        """One promotion or demotion of one weight."""
        alpha, beta = float(self.alpha), float(self.settings.get("beta", 1.0))
        if self.name == "Perceptron":
            move = f32(alpha * times) if up else f32(-f32(alpha * times))
            weights[feature] = min(max(f32(weights[feature] + move), -LARGEST), LARGEST)
        else:
            factor = f32(float(Decimal(alpha if up else beta) ** Decimal(times)))
            weights[feature] = clamp(f32(weights[feature] * factor))

    def see(self, document: dict[int, np.float32], label: int, times: float = 1.0, revive: bool = False) -> bool:
        """One trial: score, and on a mistake promote or demote the active features. True if it was a mistake."""
        self.examples += 1
        self.positives += label > 0
        if not self.errs(self.score(document), label):
            return False
        for feature in document:
            before = float(self.weight(feature))
            if feature in self.late and label < 0:
                continue
            if feature in self.dropped:
                if not revive:
                    continue
                self.dropped.remove(feature)
                self.positive[feature], self.negative[feature] = self.start
            self.late.discard(feature)
            self.step(self.positive, feature, label > 0, times)
            if self.name == "BalancedWinnow":
                self.step(self.negative, feature, label < 0, times)
            self.moment[feature] += float(self.examples - 1) * (float(self.weight(feature)) - before)
        return True

    def see_regularized(
        self, number: int | None, document: dict[int, np.float32], label: int, times: float = 1.0, revive: bool = False
    ) -> bool:
        """One trial of Regularized Winnow; a document without a number has no dual weight from before."""
        self.examples += 1
        self.positives += label > 0
        dual = f32(0) if number is None else self.duals.get(number, f32(0))
        cap = f32(float(self.settings["positive_cap" if label > 0 else "cap"]) * times)
        change = f32(self.wanted(dual, self.score(document), label, cap) - dual)
        if number is not None and abs(change) < f32(self.settings["tolerance"]):
            change = f32(0)
        if number is not None and change != 0:
            self.duals[number] = f32(self.wanted(dual, self.score(document), label, cap))
        if change != 0:
            self.push(document, change if label > 0 else f32(-change), revive)
        return bool(change > 0)

    def push(self, document: dict[int, np.float32], change: np.float32, revive: bool) -> None:
        """Multiply the positive weights by e to the power of change x strength, and divide the negative ones by it."""
        for feature, strength in document.items():
            before = float(self.weight(feature))
            if feature in self.dropped and not revive:
                continue
            if feature in self.dropped | self.late:
                self.positive[feature], self.negative[feature] = self.start
            self.dropped.discard(feature)
            self.late.discard(feature)
            factor = exponential(float(change) * float(strength))
            self.positive[feature] = clamp(f32(self.positive[feature] * f32(factor)))
            self.negative[feature] = clamp(f32(self.negative[feature] * f32(1.0 / factor)))
            self.moment[feature] += float(self.examples - 1) * (float(self.weight(feature)) - before)

    def hold_out(
        self,
        documents: Sequence[dict[int, np.float32]],
        labels: Sequence[int],
        folds: Sequence[int],
        order: Sequence[int],
    ) -> dict[int, np.float32]:
        """The scores of each fold by weights without its pushes that have seen the others once more."""
        scores: dict[int, np.float32] = {}
        for fold in set(folds) - {-1}:
            rest, inside = deepcopy(self), [i for i, own in enumerate(folds) if own == fold]
            for i in inside:
                dual = rest.duals.pop(i, f32(0))
                if dual > 0:
                    rest.push(documents[i], f32(-dual) if labels[i] > 0 else dual, revive=False)
            rest.settings = {**self.settings, "rate": float(f32(f32(self.settings["rate"]) * f32(2.5)))}
            for i in order:
                if folds[i] != fold:
                    rest.see_regularized(i, documents[i], labels[i])
            scores |= {
                i: min(rest.score(documents[i]), self.theta) if self.positives == 0 else rest.score(documents[i])
                for i in inside
            }
        return scores

    def wanted(self, dual: np.float32, score: np.float32, label: int, cap: np.float32) -> np.float32:
        """What the dual weight becomes."""
        limits = self.settings["threshold_range"]
        low, high = limits if limits is not None else (np.nextafter(self.theta, f32(np.inf)), self.theta)
        gap = f32(f32(high) - score) if label > 0 else f32(score - f32(low))
        return f32(min(max(f32(dual + f32(f32(self.settings["rate"]) * gap)), f32(0)), cap))

    def filtering_range(self) -> tuple[np.float32, np.float32]:
        given = self.settings["discard_range"]
        if not isinstance(given, str):
            return f32(given[0]), f32(given[1])
        bounds = []
        for label in (-1, 1):
            probe = Category(self.name, self.settings, self.d, 1)
            if self.name == "RegularizedWinnow":
                change = f32(self.settings["positive_cap"]) if label > 0 else f32(-f32(self.settings["cap"]))
                factor = exponential(float(change))
                probe.positive[0] = clamp(f32(probe.positive[0] * f32(factor)))
                probe.negative[0] = clamp(f32(probe.negative[0] * f32(1.0 / factor)))
                bounds.append(probe.weight(0))
                continue
            probe.step(probe.positive, 0, label > 0, 1.0)
            if self.name == "BalancedWinnow":
                probe.step(probe.negative, 0, label < 0, 1.0)
            bounds.append(probe.weight(0))
        if given == "initial":
            return bounds[0], bounds[1]
        half = f32(f32(bounds[1] - bounds[0]) * f32(0.5))
        return f32(-half), half

    def discard(self) -> None:
        low, high = self.filtering_range()
        for feature in self.positive:
            if feature not in self.dropped and low <= self.weight(feature) <= high:
                self.dropped.add(feature)
                self.moment[feature] = 0.0

    def run(
        self,
        documents: Sequence[dict[int, np.float32]],
        labels: Sequence[int],
        times: Sequence[float],
        orders: Sequence[Sequence[int]],
    ) -> list[int]:
        """Pass after pass until one makes no mistake or there are no more orders; the mistakes of each pass."""
        mistakes: list[int] = []
        discarded = not self.settings["discard"]
        for number, order in enumerate(orders, 1):
            if self.name == "RegularizedWinnow":
                mistakes.append(sum(self.see_regularized(i, documents[i], labels[i], times[i]) for i in order))
            else:
                mistakes.append(sum(self.see(documents[i], labels[i], times[i]) for i in order))
            few = mistakes[-1] < self.settings["discard_below"] * len(documents)
            if not discarded and number < len(orders) and (few or number >= self.settings["discard_by_pass"]):
                self.discard()
                discarded = True
            elif mistakes[-1] == 0:
                break
        return mistakes


def shuffled_orders(n: int, seed: int, passes: int) -> list[list[int]]:
    """The orders of the passes: Fisher and Yates on the order before, with L'Ecuyer's generator."""
    m1, m2 = 2147483563, 2147483399
    s1, s2 = seed % (m1 - 1) + 1, seed // (m1 - 1) % (m2 - 1) + 1

    def draw(below: int) -> int:
        nonlocal s1, s2
        s1, s2 = s1 * 40014 % m1, s2 * 40692 % m2
        return (s1 - s2) % (m1 - 1) * below // (m1 - 1)

    for _ in range(16):
        draw(1)
    order, orders = list(range(n)), []
    for _ in range(passes):
        for i in range(n - 1, -1, -1):
            j = draw(i + 1)
            order[i], order[j] = order[j], order[i]
        orders.append(list(order))
    return orders


class Learner:
    """All categories, each by itself."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name, self.settings = name, settings
        self.categories: list[Category] = []
        self.mistakes: list[list[int]] = []
        self.held_out: list[dict[int, np.float32]] = []
        self.d: float | None = None

    def _strengths(self, documents: Sequence[Document]) -> list[dict[int, np.float32]]:
        return [strengths(document, self.settings["strength"], self.settings["normalize"]) for document in documents]

    def _measure(self, documents: Sequence[dict[int, np.float32]]) -> float:
        given = self.settings["average_active"]
        return given if given is not None else max(sum(map(len, documents)) / len(documents), 1.0)

    def fit(
        self,
        documents: Sequence[Document],
        labels: Sequence[set[int]],
        n_features: int,
        n_categories: int,
        times: Sequence[float] | None = None,
        folds: Sequence[int] | None = None,
    ) -> "Learner":
        active = self._strengths(documents)
        self.d = self._measure(active)
        orders = [list(range(len(documents)))] * self.settings["max_passes"]
        if self.settings["shuffle"]:
            orders = shuffled_orders(len(documents), self.settings["seed"], self.settings["max_passes"])
        for c in range(n_categories):
            category = Category(self.name, self.settings, self.d, 0)
            category.grow(n_features, late=self.settings["sparse"])
            truth = [1 if c in row else -1 for row in labels]
            self.mistakes.append(category.run(active, truth, times or [1.0] * len(documents), orders))
            if folds is not None:
                self.held_out.append(category.hold_out(active, truth, folds, orders[0]))
            if self.settings["sparse"]:
                category.forget_dropped()
            self.categories.append(category)
        return self

    def partial_fit(
        self,
        documents: Sequence[Document],
        judgements: Sequence[Mapping[int, int]],
        n_features: int,
        n_categories: int,
        complete: bool = True,
    ) -> "Learner":
        """One pass in the order given; a category that a document does not judge is left alone unless complete."""
        active = self._strengths(documents)
        self.d = self.d or self._measure(active)
        late = self.settings["sparse"] or self.settings["late_start"] == "zero"
        while len(self.categories) < n_categories:
            self.categories.append(Category(self.name, self.settings, self.d, 0))
        for category in self.categories:
            category.grow(n_features, late)
        for document, judged in zip(active, judgements, strict=True):
            for c, category in enumerate(self.categories):
                label = judged.get(c, -1 if complete else 0)
                revive = not self.settings["discard_final"]
                if label != 0 and self.name == "RegularizedWinnow":
                    category.see_regularized(None, document, label, revive=revive)
                elif label != 0:
                    category.see(document, label, revive=revive)
        return self

    def scores(self, documents: Sequence[Document]) -> np.ndarray[Any, np.dtype[np.float32]]:
        active = self._strengths(documents)
        return np.array([[category.final_score(d) for category in self.categories] for d in active], dtype=f32)

    def weights(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.array(
            [[category.mean_weight(f) for f in category.positive] for category in self.categories], dtype=f32
        )
