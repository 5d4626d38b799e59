"""Look up the installed packages among known vulnerabilities with pip-audit; print how many could not be looked up.

It fails if one is known. If the package index has no list of vulnerabilities, it says so.
"""

import json
import subprocess
import sys


def main() -> int:
    """Run pip-audit, and print a summary."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable"]
    said = subprocess.run(command, capture_output=True, text=True)
    if not said.stdout:
        print(said.stderr.strip())
        return 1
    packages = json.loads(said.stdout)["dependencies"]
    looked_up = [package for package in packages if "vulns" in package]
    known = [(package["name"], vulnerability["id"]) for package in looked_up for vulnerability in package["vulns"]]
    for name, id in known:
        print(f"{name}: {id}")
    if not looked_up:
        print(f"figure: not done: the index keeps no list, and none of {len(packages)} packages could be looked up")
    else:
        print(f"figure: {len(looked_up)} of {len(packages)} packages looked up, {len(known)} vulnerabilities known")
    return int(bool(known))


if __name__ == "__main__":
    sys.exit(main())
