"""The metrics of a service: what Prometheus reads of its responses, its state and its process."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thresher.web.prometheus_metrics import BOUNDS, GAUGES, RequestMetrics


def samples(metrics: RequestMetrics, **gauges: float) -> dict[tuple[str, ...], float]:
    """Return the values by name and labels, as Prometheus reads them."""
    families = text_string_to_metric_families(metrics.render(gauges).decode())
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_responses_are_counted_by_route_and_status() -> None:
    metrics = RequestMetrics()
    for status in (200, 404, 200):
        metrics.count_response("/v1/categories/{name:path}", status, 0.004)
    found = samples(metrics)
    assert found["thresher_requests_total", "route=/v1/categories/{name:path}", "status=200"] == 2
    assert found["thresher_requests_total", "route=/v1/categories/{name:path}", "status=404"] == 1
    assert not [name for name, *_ in found if name.endswith("_created")]


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_duration_counts_in_each_bucket_that_it_is_within(bound: float) -> None:
    metrics = RequestMetrics()
    metrics.count_response("/", 200, bound)
    metrics.count_response("/", 200, bound * 1.01)
    found = samples(metrics)
    for other in BOUNDS:
        buckets = found["thresher_request_seconds_bucket", f"le={other}", "route=/"]
        assert buckets == (other >= bound) + (other >= bound * 1.01)
    assert found["thresher_request_seconds_bucket", "le=+Inf", "route=/"] == 2
    assert found["thresher_request_seconds_count", "route=/"] == 2
    assert found["thresher_request_seconds_sum", "route=/"] == pytest.approx(bound * 2.01)


def test_every_metric_has_a_help_text() -> None:
    metrics = RequestMetrics()
    metrics.count_response("/", 200, 0.1)
    lines = metrics.render(dict.fromkeys(GAUGES, 3)).decode().splitlines()
    helped = {line.split()[2] for line in lines if line.startswith("# HELP ") and len(line.split()) > 3}
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    assert helped == typed >= {"thresher_requests_total", "thresher_request_seconds", "thresher_position"}
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"} <= typed


def test_only_the_given_gauges_are_rendered() -> None:
    found = samples(RequestMetrics(), ready=False, writer_waiting=2)
    assert {name: value for (name, *_), value in found.items() if name.startswith("thresher")} == {
        "thresher_ready": 0,
        "thresher_writer_waiting": 2,
    }


def test_each_service_has_its_own_counts() -> None:
    one, other = RequestMetrics(), RequestMetrics()
    one.count_response("/", 200, 0.1)
    assert ("thresher_requests_total", "route=/", "status=200") in samples(one)
    assert ("thresher_requests_total", "route=/", "status=200") not in samples(other)
