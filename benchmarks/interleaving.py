"""Time several systems in turns, so that a busy machine affects all equally; used by the benchmarks."""

import time
from collections.abc import Callable, Mapping
from statistics import median


def time_interleaved(
    systems: Mapping[str, Callable[[], object]], rounds: int, warm_up: bool = True
) -> dict[str, list[float]]:
    """Time every system once a round, after one round that compiles and warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(1 - warm_up, rounds + 1):
        for name, run in systems.items():
            start = time.perf_counter()
            run()
            if number > 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def table(seconds: dict[str, list[float]], peer: str, amount: float, unit: str) -> None:
    """Print each system's speed: its ratio to the peer's, then median, minimum and maximum per second."""
    print(f"{'':44} {'x peer':>7} {unit + '/s':>12} {'slowest':>10} {'fastest':>10}")
    for name, times in seconds.items():
        ratio, rate = median(seconds[peer]) / median(times), amount / median(times)
        print(f"{name:44} {ratio:7.1f} {rate:12,.1f} {amount / max(times):10,.1f} {amount / min(times):10,.1f}")
