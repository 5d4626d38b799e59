"""The metrics of a service for Prometheus: its responses and their durations, its state, and its process."""

from collections.abc import Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

MEDIA = "text/plain; version=0.0.4"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5)  # seconds
GAUGES = {
    "ready": "Whether the service answers requests.",
    "writer_waiting": "Corrections and other changes that wait for the writing thread.",
    "position": "Number of the last record of the journal.",
    "corrections": "Corrections that are in effect.",
    "documents_open": "Documents to review that are open.",
}


class RequestMetrics:
    """The number of responses of a service, and their durations, in a registry of its own.

    >>> metrics = RequestMetrics()
    >>> metrics.count_response("/v1/model", 200, 0.004)
    >>> [line for line in metrics.render({"ready": 1}).decode().splitlines() if "_total{" in line]
    ['thresher_requests_total{route="/v1/model",status="200"} 1.0']
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._responses = Counter(
            "thresher_requests_total", "Responses by route and status.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "thresher_request_seconds", "Seconds to a response.", ["route"], buckets=BOUNDS, registry=self._registry
        )
        ProcessCollector(registry=self._registry)
        self._series: dict[tuple[str, int], tuple[Counter, Histogram]] = {}  # to look up labels takes longer

    def count_response(self, route: str, status: int, seconds: float) -> None:
        """Count one response."""
        series = self._series.get((route, status))
        if series is None:
            series = self._responses.labels(route, status), self._seconds.labels(route)
            self._series[route, status] = series
        responses, durations = series
        responses.inc()
        durations.observe(seconds)

    def render(self, gauges: Mapping[str, float]) -> bytes:
        """Return all metrics, and the given ones of GAUGES, in the Prometheus text format."""
        registry = CollectorRegistry()
        for name, value in gauges.items():
            Gauge(f"thresher_{name}", GAUGES[name], registry=registry).set(value)
        lines = (generate_latest(self._registry) + generate_latest(registry)).splitlines(keepends=True)
        return b"".join(line for line in lines if b"_created" not in line)  # when each series began
