"""Settings of the whole test run, made before anything is imported that reads them."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

from hypothesis import settings

# The first example may have a kernel compiled.
settings.register_profile("thresher", deadline=None)
settings.load_profile("thresher")
