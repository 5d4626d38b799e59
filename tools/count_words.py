"""Count the words and phrases in `src` that the style guide asks to avoid, by package.

.venv/bin/python tools/count_words.py [-v]    # -v prints each line that has one

The names of functions and variables count too: `told`, `tells`.
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = (ROOT / "src", ROOT / "reproduction" / "src")
AVOIDED = {
    "stands": r"stands?|stood",
    "beside": r"besides?",
    "is no, are none": r"(?<!there )(?:is|are|was|were) (?:no(?! more| longer)|none)",
    "unless told": r"unless told",
    "tells, is told": r"[Tt]ells?|[Tt]old|TOLD",
    "anew": r"anew",
    "whoever": r"whoever|who came",
    "mended": r"mend(?:s|ed)?",
    "per cent": r"per cent",
    "so many": r"so many",
    "rather that": r"rather (?:that|this)",
    "for ever, in silence, to the letter": r"for ever|in silence|to the letter",
    "what was found, what is kept": r"what (?:was|were|is) (?:found|kept)",
}
PATTERN = {name: re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])") for name, words in AVOIDED.items()}


def main() -> int:
    """Print the counts; the exit code is 1 if there are more than 20."""
    by_package, by_word = Counter[str](), Counter[str]()
    for path in sorted(path for folder in FOLDERS for path in folder.rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name, pattern in PATTERN.items():
                if count := len(pattern.findall(line)):
                    by_word[name] += count
                    by_package["/".join(path.relative_to(ROOT).parts[:-1])] += count
                    if "-v" in sys.argv:
                        print(f"{path.relative_to(ROOT)}:{number}: {name}: {line.strip()}")
    for counts in (by_package, by_word):
        for name, count in counts.most_common():
            print(f"{count:5}  {name}")
        print()
    total = by_word.total()
    print(f"{total:5}  all")
    return int(total > 20)


if __name__ == "__main__":
    sys.exit(main())
