"""Default limits of the features of texts."""

MAX_FEATURES = 2**20
MEMORY = 128_000_000  # for rows, in bytes
