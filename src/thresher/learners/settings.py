"""Parameters of the learners and their defaults, shared by the learners and the scikit-learn estimators."""

import re
from dataclasses import dataclass
from inspect import getdoc
from textwrap import indent
from typing import Any


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """The parameters of every learner.

    Parameters
    ----------
    theta : float
        The threshold. A document is accepted if its score is above it.
    threshold_range : (float, float) or None
        In training, all scores within the range, ends included, are mistakes (section 4.2). None is the basic
        version: a positive is a mistake at score <= theta, a negative at score > theta.
    average_active : float or None
        d, the average number of active features of a document, which sets the starting weights. None: measured at
        the first call of fit or partial_fit, then fixed (`average_active_`).
    strength : "binary", "linear" or "sqrt"
        The strength of a feature that occurs n times: 1, n or the square root of n (section 4.3).
    normalize : bool
        Divide the strengths of a document by their sum (section 4.1). The weights then start at theta instead of
        theta / d.
    max_passes : int
        The maximum number of passes over the documents. A category stops earlier after a pass without a mistake.
    shuffle, seed : bool, int
        Shuffle the documents again for each pass, with this seed.
    discard : bool
        Discard features during training (section 4.4). Each category does so once, after the first pass with fewer
        mistakes than `discard_below` x documents or with the number `discard_by_pass`, but never after the last
        pass. This suits collections of a thousand documents and more. In a small one, relevant features may have
        been promoted only once, and would be discarded.
    discard_range : "initial", "zero" or (float, float)
        The filtering range, ends included. "initial" is the paper's: from one demotion to one promotion of the
        starting weight. "zero" has the same width, but is centered on 0.
    discard_below, discard_by_pass : float, int
        When to discard features; see `discard`.
    discard_final : bool
        Whether a discarded feature stays discarded. If False, a later mistake in partial_fit on a document that has
        the feature restores its starting weight, and then takes the step.
    late_start : "initial" or "zero"
        The weight of features and categories that first appear in partial_fit. "initial": the starting weight.
        "zero": 0 until a mistake of the category promotes the feature, which then takes its step from the starting
        weight.
    sparse : bool
        Store weights only for features that a mistake of the category has met, for very many categories. A feature
        that has not been met has weight 0, from the start on, until a mistake of the category promotes it. In
        Regularized Winnow, whose weights start at 0, any step counts as meeting the feature, and no score changes.
        After `fit`, a discarded feature counts as not met. `late_start` and `discard_final` have no effect.
    average : bool
        Score with the mean of the weights over all examples of the category's run instead of the last ones.
    n_threads : int or None
        Number of threads over blocks of categories. None: one per core. Does not change the result.
    block_width : int or None
        Categories per block, a power of two up to 32. None: chosen by their number. Does not change the result.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Insert the inherited parameters where a class's docstring refers to them."""
        super().__init_subclass__(**arguments)
        for settings in cls.__mro__[1:]:
            reference = rf"(?m)^( *)Its parameters are those of `{settings.__name__}`\.\n"
            if cls.__doc__ and (found := re.search(reference, cls.__doc__)):  # Python 3.13 strips the indentation
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
    """The parameters of the two Winnows: `Settings`, and the factors of their steps.

    Parameters
    ----------
    alpha, beta : float
        The promotion, a factor above 1, and the demotion, a factor between 0 and 1.
    """

    alpha: float = 1.3
    beta: float = 0.74


@dataclass(kw_only=True, eq=False, repr=False)
class RegularizedSettings(Settings):
    """The parameters of Regularized Winnow: `Settings`, and the limits on a document's effect.

    Parameters
    ----------
    size : float
        The starting value of w+ and w-. Their difference, the weight, starts at 0.
    rate : float
        How far a document's dual weight moves for each unit that its score lies on the wrong side of the range.
    cap, positive_cap : float
        The maximum dual weight of a negative, and of a positive example.
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
    """The parameters of the Perceptron: `Settings`, and the summand of its steps.

    Parameters
    ----------
    alpha : float or None
        The summand. None: the starting weight, which suits documents of any length.
    """

    alpha: float | None = None


def _parameters(settings: type) -> str:
    """Return the text of a class's parameters and of those that it inherits."""
    texts = [(getdoc(cls) or "").partition("Parameters\n----------\n")[2] for cls in settings.__mro__]
    return "Parameters\n----------\n" + "".join(text.rstrip() + "\n" for text in dict.fromkeys(texts) if text)
