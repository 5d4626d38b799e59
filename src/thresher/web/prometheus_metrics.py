"""Counters and histograms in the Prometheus text format."""

import threading
from bisect import bisect_left
from collections import defaultdict

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5)  # seconds


class Meters:
    """The number of responses of a service, and their durations.

    >>> meters = Meters()
    >>> meters.answered("/v1/model", 200, 0.004)
    >>> [line for line in meters.text().splitlines() if "_total{" in line]
    ['thresher_requests_total{route="/v1/model",status="200"} 1']
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, int], int] = defaultdict(int)
        self._slots: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one response."""
        with self._lock:
            self._answers[route, status] += 1
            self._slots[route][bisect_left(BOUNDS, seconds)] += 1
            self._seconds[route] += seconds

    def text(self, **gauges: float) -> str:
        """Return all metrics, and the given `gauges`, in the Prometheus text format."""
        with self._lock:
            lines = ["# TYPE thresher_requests_total counter"]
            for (route, status), count in sorted(self._answers.items()):
                lines.append(f'thresher_requests_total{{route="{route}",status="{status}"}} {count}')
            lines.append("# TYPE thresher_request_seconds histogram")
            for route, slots in sorted(self._slots.items()):
                total = 0
                for bound, count in zip([*map(str, BOUNDS), "+Inf"], slots, strict=True):
                    total += count
                    lines.append(f'thresher_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
                lines.append(f'thresher_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
                lines.append(f'thresher_request_seconds_count{{route="{route}"}} {total}')
        for name, value in gauges.items():
            lines += [f"# TYPE thresher_{name} gauge", f"thresher_{name} {value:g}"]
        return "\n".join(lines) + "\n"
