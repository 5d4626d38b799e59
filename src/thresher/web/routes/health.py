"""Routes for monitoring: liveness, readiness and metrics."""

from fastapi import FastAPI, Request
from starlette.responses import Response

from thresher.web import response_models
from thresher.web.description import Responses, needs
from thresher.web.prometheus_metrics import MEDIA, RequestMetrics
from thresher.web.routes.shared import answer, compute
from thresher.web.service import Service, State


def add_routes(app: FastAPI, service: Service, request_metrics: RequestMetrics) -> None:
    """Add the routes for monitoring."""

    @app.get("/healthz", response_model=response_models.Health, openapi_extra=needs(None))
    async def healthz() -> Response:
        """Report that the service is running."""
        return answer({"status": "ok"})

    @app.get("/readyz", response_model=response_models.Health, openapi_extra=needs(None))
    async def readyz() -> Response:
        """Report whether the service is ready for requests."""
        service.check_ready()
        return answer({"status": service.state})

    prometheus: Responses = {200: {"description": "Prometheus", "content": {"text/plain": {}}}}

    @app.get("/metrics", responses=prometheus, openapi_extra=needs("reader"))
    async def metrics(request: Request) -> Response:
        """Return metrics of the responses and the service for Prometheus."""

        def render() -> bytes:
            gauges: dict[str, float] = {"ready": service.state == State.READY, "writer_waiting": service.waiting}
            if service.state == State.READY:
                gauges |= {
                    "position": service.served.position,
                    "corrections": service.served.stats.corrections,
                    "documents_open": service.served.documents.count_states()["open"],
                }
            return request_metrics.render(gauges)

        return Response(await compute(request, service.workers.quick, render), media_type=MEDIA)
