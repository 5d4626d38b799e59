"""Reads the pinned packages in `requirements/`, which `make lock` writes."""

import re

from support.paths import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
_PIN = re.compile(r"^(\S+)==(\S+)(?: ; (.*?))? \\$", re.MULTILINE)


def pinned_versions(name: str = "dev") -> dict[str, str]:
    """Return the version of each package that `requirements/NAME.txt` pins."""
    return {package: version for package, version, _ in _PIN.findall((ROOT / f"requirements/{name}.txt").read_text())}


def constraints() -> str:
    """Return the pins without hashes, as a constraints file: a wheel that was built here has no known hash."""
    pins = _PIN.findall((ROOT / "requirements" / "dev.txt").read_text())
    return "".join(f"{package}=={version}{marker and f' ; {marker}'}\n" for package, version, marker in pins)
