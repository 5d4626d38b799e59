"""Routes for categories: list, show and change them."""

from uuid import uuid4

from fastapi import FastAPI, Request
from starlette.responses import Response

from thresher.web import request_models, response_models
from thresher.web.description import links, needs
from thresher.web.routes.shared import (
    Answer,
    compute,
    encode,
    holder_of,
    read_journal,
    user_of,
    write,
)
from thresher.web.service import Service


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes for categories."""

    @app.get(
        "/v1/categories",
        response_model=response_models.Categories,
        responses={200: links(category={"name": "$response.body#/categories/0/name"})},
        openapi_extra=needs("reader"),
    )
    async def categories(request: Request) -> Response:
        """List the categories and their quality."""
        service.check_ready()
        return Answer(await compute(request, service.workers.quick, lambda: encode(service.queries.list_categories())))

    @app.get("/v1/categories/{name:path}", response_model=response_models.Category, openapi_extra=needs("reader"))
    async def category(request: Request, name: str) -> Response:
        """Show a category: its words, its counts, its curve and its latest mistakes."""
        service.check_ready()
        about = await compute(request, service.workers.quick, lambda: service.queries.describe_category(name))
        mistakes = await read_journal(request, service, lambda: service.queries.list_mistakes(name))
        return Answer(await compute(request, service.workers.quick, lambda: encode(about | {"mistakes": mistakes})))

    changed = links(category={"name": "$response.body#/categories/0"}, undo={"id": "$response.body#/id"})

    @app.post(
        "/v1/categories",
        response_model=response_models.Changed,
        responses={200: changed},
        openapi_extra=needs("admin"),
    )
    async def change_categories(request: Request, given: request_models.CategoryChangeIn) -> Response:
        """Add, rename, merge or retire categories, or set a threshold."""
        holder = holder_of(request)
        change = given.root
        id, user = change.id or uuid4().hex, user_of(holder, change.user)
        return Answer(await write(service, lambda: encode(service.commands.change_categories(id, change, user))))
