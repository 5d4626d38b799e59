"""Settings of the whole test run, made before anything is imported that reads them."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
