"""Routes for the model as a whole: statistics, settings, reload and backup."""

from fastapi import FastAPI, Request
from starlette.responses import Response

from thresher.web import request_models, response_models
from thresher.web.description import needs
from thresher.web.routes.shared import (
    Answer,
    answer,
    compute,
    encode,
    holder_of,
    read_journal,
    write,
)
from thresher.web.service import Service


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes for the model."""

    @app.get("/v1/stats", response_model=response_models.Stats, openapi_extra=needs("reader"))
    async def stats(request: Request) -> Response:
        """Return the number of mistakes so far, and whether the error rate has risen."""
        service.check_ready()
        return Answer(await compute(request, service.workers.quick, lambda: encode(service.queries.summarize())))

    @app.get("/v1/model", response_model=response_models.Model, openapi_extra=needs("reader"))
    async def model(request: Request) -> Response:
        """Show the settings and the digest of the model, and the user who asks."""
        holder = holder_of(request)
        about = await read_journal(request, service, service.queries.describe_model)
        return answer(about | {"role": holder.role, "user": holder.name})

    @app.post(
        "/v1/model/reload",
        response_model=response_models.Reloaded,
        openapi_extra=needs("admin"),
    )
    async def reload(given: request_models.ReloadIn) -> Response:
        """Load the model file if it holds another model now."""
        return answer(await write(service, lambda: service.reload(given.new_journal)))

    @app.post(
        "/v1/backup",
        response_model=response_models.BackedUp,
        openapi_extra=needs("admin"),
    )
    async def back_up(given: request_models.BackupIn) -> Response:
        """Write a copy of the journal to a folder within that of the journal."""
        return answer(await write(service, lambda: service.backup(temporary=given.temporary)))
