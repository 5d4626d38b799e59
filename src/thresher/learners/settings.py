"""The settings of the learners, for the estimators and the command line too. Needs no compiled code."""

from dataclasses import dataclass

from thresher.support.settings import (
    MIN_NUMBER,
    PAIR,
    SWITCH,
    Rule,
    document_settings,
    either,
    is_number,
    number_above,
    number_within,
    one_of,
    optional,
    setting,
    whole_number,
)

PAPER = "Model settings from the paper"  # the heading of the learning rules and of what section 4 adds to them
MACHINE = "machine"  # settings that never change the result
_POSITIVE = number_above(MIN_NUMBER)


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class LearnerSettings:
    """The settings that all learners have.

    Its parameters are those of `LearnerSettings`.
    """

    theta: float = setting(
        1.0, _POSITIVE, "The threshold. A document is accepted if its score is above it.", metavar="X", group=PAPER
    )
    threshold_range: tuple[float, float] | None = setting(
        (0.9, 1.1),
        optional(PAIR),
        """Scores that count as mistakes in training, as LOW,HIGH or none. The ends are included (section 4.2). None is
        the basic version: a positive is a mistake at score <= theta, a negative at score > theta.""",
        metavar="LOW,HIGH",
        group=PAPER,
    )
    average_active: float | None = setting(
        None,
        optional(_POSITIVE),
        """The average number of active features of a document, d, or none to measure it. It sets the starting weights.
        It is measured at the first call of fit or partial_fit, then fixed (`average_active_`).""",
        metavar="X",
        group=PAPER,
    )
    strength: str = setting(
        "sqrt",
        one_of("binary", "linear", "sqrt"),
        "The strength of a feature that occurs n times: 1, n or the square root of n (section 4.3).",
        metavar="NAME",
    )
    normalize: bool = setting(
        False,
        SWITCH,
        """Divide the strengths of a document by their sum. The weights then start at theta instead of theta / d
        (section 4.1).""",
        group=PAPER,
    )
    max_passes: int = setting(
        50,
        whole_number(1),
        "The maximum number of passes over the documents. A category stops earlier after a pass without a mistake.",
        metavar="N",
    )
    shuffle: bool = setting(False, SWITCH, "Shuffle the documents again for each pass, with the seed.")
    seed: int = setting(0, whole_number(0), "The seed of the order of the documents.", metavar="N")
    discard: bool = setting(
        True,
        SWITCH,
        """Discard features during training. Each category does so once (section 4.4), after the first pass with fewer
        mistakes than `discard_below` x documents or with the number `discard_by_pass`, but never after the last pass.
        This suits collections of a thousand documents and more. In a small one, relevant features may have been
        promoted only once, and would be discarded.""",
        group=PAPER,
    )
    discard_range: str | tuple[float, float] = setting(
        "initial",
        either(one_of("initial", "zero"), PAIR),
        """The weights whose features are discarded: initial, zero or LOW,HIGH. The ends are included. "initial" is the
        paper's range: from one demotion to one promotion of the starting weight. "zero" has the same width, but is
        centered on 0.""",
        metavar="RANGE",
        group=PAPER,
    )
    discard_below: float = setting(
        0.001,
        number_within(0, 1),
        "Discard features after a pass with fewer mistakes than this share of the documents.",
        metavar="X",
        group=PAPER,
    )
    discard_by_pass: int = setting(
        10, whole_number(1), "Discard features after this pass at the latest.", metavar="N", group=PAPER
    )
    discard_final: bool = setting(
        True,
        SWITCH,
        """Keep discarded features discarded. If False, a later mistake in partial_fit on a document that has the
        feature restores its starting weight, and then takes the step.""",
        group=PAPER,
    )
    late_start: str = setting(
        "initial",
        one_of("initial", "zero"),
        """The weight of features and categories that first appear after training: zero or initial. "initial" is the
        starting weight. With "zero", the weight is 0 until a mistake of the category promotes the feature, which then
        takes its step from the starting weight.""",
        metavar="NAME",
        group=PAPER,
    )
    sparse: bool = setting(
        False,
        SWITCH,
        """Store only the weights that matter, for very many categories. A feature that no mistake of the category has
        met has weight 0, from the start on, until a mistake promotes it. In Regularized Winnow, whose weights start at
        0, any step counts as meeting the feature, and no score changes. After `fit`, a discarded feature counts as not
        met. `late_start` and `discard_final` have no effect.""",
    )
    average: bool = setting(
        False,
        SWITCH,
        "Score with the mean of the weights over all examples of the category's run, not with the last ones.",
        group=PAPER,
    )
    n_threads: int | None = setting(
        None,
        optional(whole_number(1)),
        "The number of threads, by default one per core. It does not change the result.",
        metavar="N",
        group=MACHINE,
    )
    block_width: int | None = setting(
        None,
        optional(one_of(1, 2, 4, 8, 16, 32)),
        "The number of categories per block, by default chosen by their number. It does not change the result.",
        metavar="N",
        group=MACHINE,
    )


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class WinnowSettings(LearnerSettings):
    """The settings of the two Winnows.

    Its parameters are those of `WinnowSettings`.
    """

    alpha: float = setting(
        1.3, number_above(1), "The promotion: a mistake on a positive document multiplies the weights by it.",
        metavar="X", group=PAPER,
    )  # fmt: skip
    beta: float = setting(
        0.74,
        Rule("above 1e-6, below 1", lambda value: is_number(value) and MIN_NUMBER < value < 1, "number"),
        "The demotion: a mistake on a negative document multiplies the weights by it.",
        metavar="X",
        group=PAPER,
    )


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class PositiveWinnowSettings(WinnowSettings):
    """The settings of Positive Winnow: shorter steps, and strengths that are normalized.

    Its parameters are those of `PositiveWinnowSettings`.
    """

    alpha: float = 1.02
    beta: float = 0.98
    normalize: bool = True


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class RegularizedSettings(LearnerSettings):
    """The settings of Regularized Winnow.

    Its parameters are those of `RegularizedSettings`.
    """

    threshold_range: tuple[float, float] | None = (0.0, 2.0)
    max_passes: int = 15
    shuffle: bool = True
    discard: bool = False
    size: float = setting(
        0.5,
        _POSITIVE,
        "The starting value of w+ and w- in Regularized Winnow. Their difference, the weight, starts at 0.",
        metavar="X",
        group=PAPER,
    )
    rate: float = setting(
        0.3,
        _POSITIVE,
        """The rate of Regularized Winnow. A document's dual weight moves by it for each unit that its score lies on the
        wrong side of the range.""",
        metavar="X",
        group=PAPER,
    )
    tolerance: float = setting(
        0.0,
        number_within(0, 1),
        """The smallest change of a dual weight in `fit` of Regularized Winnow. It saves most of the time to leave
        smaller ones out.""",
        metavar="X",
        group=PAPER,
    )
    cap: float = setting(
        1.0, _POSITIVE, "The maximum dual weight of a negative document in Regularized Winnow.",
        metavar="X", group=PAPER,
    )  # fmt: skip
    positive_cap: float = setting(
        1.0, _POSITIVE, "The maximum dual weight of a positive document in Regularized Winnow.",
        metavar="X", group=PAPER,
    )  # fmt: skip


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronSettings(LearnerSettings):
    """The settings of the Perceptron.

    Its parameters are those of `PerceptronSettings`.
    """

    alpha: float | None = setting(
        None,
        optional(_POSITIVE),
        "The summand of a step. By default it is the starting weight, which suits documents of any length.",
        metavar="X",
        group=PAPER,
    )
