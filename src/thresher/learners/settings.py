"""The learners' parameters with their defaults, written once for the learners and the scikit-learn estimators."""

import re
from dataclasses import dataclass
from inspect import getdoc
from textwrap import indent
from typing import Any


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """What every learner is told.

    Parameters
    ----------
    theta : float
        The threshold. A document is accepted where its score is above it.
    threshold_range : (float, float) or None
        In training, all scores within the range are mistakes, its ends included (section 4.2). None is the basic
        version: a positive errs at score <= theta, a negative at score > theta.
    average_active : float or None
        d, the average number of active features of a document, from which the weights start. None: measured at the
        first call of fit or partial_fit, then fixed (`average_active_`).
    strength : "binary", "linear" or "sqrt"
        The strength of a feature that occurs n times: 1, n or the square root of n (section 4.3).
    normalize : bool
        Divide the strengths of a document by their sum (section 4.1); the weights then start at theta instead of
        theta / d.
    max_passes : int
        The most passes over the documents; a category stops earlier after a pass without a mistake.
    shuffle, seed : bool, int
        Draw the order of the documents anew for each pass.
    discard : bool
        Drop features while training (section 4.4), once for each category, after the first pass whose mistakes are
        fewer than `discard_below` x documents or whose number is `discard_by_pass`; never after the last pass. Made
        for collections of a thousand documents and more: in a small one the telling features may have been promoted
        only once, and would be dropped.
    discard_range : "initial", "zero" or (float, float)
        The filtering range, ends included. "initial", the paper's: from one demotion to one promotion of the
        starting weight. "zero": as wide, but centred on 0.
    discard_below, discard_by_pass : float, int
        The moment of discarding.
    discard_final : bool
        Whether a dropped feature stays dropped for ever. If False, a later mistake in partial_fit in which it is
        active brings it back at its starting weight, and then takes its step.
    late_start : "initial" or "zero"
        What features and categories weigh that appear in partial_fit. "initial": as all others did at the start.
        "zero": nothing, until a mistake of the category promotes the feature; then it starts and takes its step.
    sparse : bool
        Keep a weight only for the features that a mistake of the category has met, for very many categories. A feature
        that has not been met weighs nothing, from the start on, until a mistake of the category promotes it (for
        Regularized Winnow, whose weights start at nothing, until one pushes it: there this changes no score). After
        `fit` a dropped feature counts as one that has not been met; `late_start` and `discard_final` play no part.
    average : bool
        Score with the mean of the weights over all examples of the category's run instead of the last ones.
    n_threads : int or None
        Threads over blocks of categories; None: one a core. Never changes the result.
    block_width : int or None
        Categories a block, a power of two up to 32; None: chosen by their number. Never changes the result.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Write the text of the inherited parameters where a class's docstring refers to them."""
        super().__init_subclass__(**arguments)
        for settings in cls.__mro__[1:]:
            reference = rf"(?m)^( *)Its parameters are those of `{settings.__name__}`\.\n"
            if cls.__doc__ and (found := re.search(reference, cls.__doc__)):  # Python 3.13 leaves the indentation out
                cls.__doc__ = cls.__doc__.replace(found[0], indent(_parameters(settings), found[1]))

    theta: float = 1.0
    threshold_range: tuple[float, float] | None = (0.9, 1.1)
    average_active: float | None = None
    strength: str = "sqrt"
    normalize: bool = False
    max_passes: int = 50
    shuffle: bool = False
    seed: int = 0
    discard: bool = True
    discard_range: str | tuple[float, float] = "initial"
    discard_below: float = 0.001
    discard_by_pass: int = 10
    discard_final: bool = True
    late_start: str = "initial"
    sparse: bool = False
    average: bool = False
    n_threads: int | None = None
    block_width: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class WinnowSettings(Settings):
    """What the two Winnows are told: `Settings`, and the factors of its steps.

    Parameters
    ----------
    alpha, beta : float
        The promotion, a factor above 1, and the demotion, a factor between 0 and 1.
    """

    alpha: float = 1.3
    beta: float = 0.74


@dataclass(kw_only=True, eq=False, repr=False)
class RegularizedSettings(Settings):
    """What Regularized Winnow is told: `Settings`, and how far a document may push.

    Parameters
    ----------
    size : float
        Where w+ and w- start, and with them every weight at 0.
    rate : float
        How far a document's dual weight moves for each unit that its score lies on the wrong side of the range.
    cap, positive_cap : float
        The most that the dual weight of a negative, and of a positive example, may become.
    """

    size: float = 0.5
    rate: float = 0.3
    cap: float = 1.0
    positive_cap: float = 1.0
    threshold_range: tuple[float, float] | None = (0.0, 2.0)
    max_passes: int = 15
    shuffle: bool = True
    discard: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronSettings(Settings):
    """What the Perceptron is told: `Settings`, and the summand of its steps.

    Parameters
    ----------
    alpha : float or None
        The summand. None: the starting weight itself, which suits documents of any length.
    """

    alpha: float | None = None


def _parameters(settings: type) -> str:
    """Return the text of a class's parameters, and of those that it inherits."""
    texts = [(getdoc(cls) or "").partition("Parameters\n----------\n")[2] for cls in settings.__mro__]
    return "Parameters\n----------\n" + "".join(text.rstrip() + "\n" for text in dict.fromkeys(texts) if text)
