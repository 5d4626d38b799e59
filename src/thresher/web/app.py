"""The ASGI application: all routes of a service behind its guard."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from thresher import __version__
from thresher.errors import ThresherError
from thresher.web.description import RESPONSES, describe, needs
from thresher.web.errors import Problem
from thresher.web.guards import Guard, Rules
from thresher.web.prometheus_metrics import RequestMetrics
from thresher.web.routes import categories, categorize, corrections, documents, health, model, page
from thresher.web.routes.checked_route import CheckedRoute
from thresher.web.routes.shared import Answer, compute, encode, make_refusal
from thresher.web.service import Service

_HANDLED = (Problem, ThresherError, MemoryError, ClientDisconnect, HTTPException, RequestValidationError, Exception)


def create_app(service: Service, rules: Rules) -> Guard:
    """Return the ASGI application: the routes of a service behind its guard."""
    app = FastAPI(
        title="Thresher",
        version=__version__,
        summary="Sorts text into categories, learns from every correction, and says which words decided.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=RESPONSES,
        exception_handlers=dict.fromkeys(_HANDLED, make_refusal),
        generate_unique_id_function=lambda route: route.name,
    )
    app.router.route_class = CheckedRoute
    app.state.service = service
    metrics = RequestMetrics()
    categorize.add_routes(app, service)  # first, because routes are matched in order
    categories.add_routes(app, service)
    documents.add_routes(app, service)
    model.add_routes(app, service)
    page.add_routes(app)
    health.add_routes(app, service, metrics)
    corrections.add_routes(app, service)

    @app.get("/openapi.json", include_in_schema=False, openapi_extra=needs("reader"))
    async def openapi(request: Request) -> Response:
        return Answer(await compute(request, service.workers.quick, lambda: encode(describe(app))))

    return Guard(app, rules, metrics)
