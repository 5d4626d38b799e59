"""Routes for categories: list, show and change them."""

from uuid import uuid4

from fastapi import FastAPI, Request
from starlette.responses import Response

from thresher.web import request_models, response_models
from thresher.web.description import route
from thresher.web.routes.shared import (
    Answer,
    body_of,
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
        **route(
            "reader", response_models.Categories, leads={"category": {"name": "$response.body#/categories/0/name"}}
        ),
    )
    async def categories(request: Request) -> Response:
        """List the categories and how well they do."""
        service.check_ready()
        return Answer(await compute(request, service.workers.quick, lambda: encode(service.queries.list_categories())))

    @app.get("/v1/categories/{name:path}", **route("reader", response_models.Category))
    async def category(request: Request, name: str) -> Response:
        """Show a category: its words, its counts, its curve and its latest mistakes."""
        service.check_ready()
        about = await compute(request, service.workers.quick, lambda: service.queries.describe_category(name))
        mistakes = await read_journal(request, service, lambda: service.queries.list_mistakes(name))
        return Answer(await compute(request, service.workers.quick, lambda: encode(about | {"mistakes": mistakes})))

    changed = {"category": {"name": "$response.body#/categories/0"}, "undo": {"id": "$response.body#/id"}}

    @app.post(
        "/v1/categories",
        **route("admin", response_models.Changed, takes=request_models.CategoryChangeIn, leads=changed),
    )
    async def change_categories(request: Request) -> Response:
        """Add a category, give one another name or threshold, join some, or retire one."""
        holder = holder_of(request)
        given = (await body_of(request, service, request_models.CategoryChangeIn)).root
        id, user = given.id or uuid4().hex, user_of(holder, given.user)
        return Answer(await write(service, lambda: encode(service.commands.change_categories(id, given, user))))
