"""Routes for monitoring: liveness, readiness and metrics."""

from fastapi import FastAPI, Request
from starlette.responses import Response

from thresher.web import response_models
from thresher.web.description import route
from thresher.web.prometheus_metrics import Meters
from thresher.web.routes.shared import answer, look
from thresher.web.service import Service


def add_routes(app: FastAPI, service: Service, meters: Meters) -> None:
    """Add the routes for monitoring."""

    @app.get("/healthz", **route(None, response_models.Health))
    async def healthz() -> Response:
        """Tell that the service lives."""
        return answer({"status": "ok"})

    @app.get("/readyz", **route(None, response_models.Health))
    async def readyz() -> Response:
        """Tell whether the service may be asked."""
        service.check_ready()
        return answer({"status": service.state})

    prometheus = {"200": {"description": "Prometheus", "content": {"text/plain": {}}}}

    @app.get("/metrics", **route("reader", None, responses=prometheus))
    async def metrics(request: Request) -> Response:
        """Count what was answered, and how fast."""

        def text() -> str:
            gauges = {"ready": service.state == "ready", "writer_waiting": service.waiting}
            if service.state == "ready":
                gauges |= {
                    "position": service.position,
                    "corrections": service.tally.corrections,
                    "documents_open": service.pool.counts()["open"],
                }
            return meters.text(**gauges)

        return Response(await look(request, service.pools.quick, text), media_type="text/plain; version=0.0.4")
