"""The categories: how they do, one of them looked at, and how they are changed."""

import asyncio
from uuid import uuid4

from fastapi import FastAPI, Request
from starlette.responses import Response

from thresher.web import bodies, outcomes
from thresher.web.description import route
from thresher.web.routes.shared import answer, body_of, holder_of, keep, look_up, user_of
from thresher.web.service import Service


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes of categories."""

    @app.get(
        "/v1/categories",
        **route("reader", outcomes.Categories, leads={"category": {"name": "$response.body#/categories/0/name"}}),
    )
    async def categories(request: Request) -> Response:
        """List the categories and how well they do."""
        service.check_ready()
        return answer(await asyncio.to_thread(service.categories))

    @app.get("/v1/categories/{name:path}", **route("reader", outcomes.Category))
    async def category(request: Request, name: str) -> Response:
        """Show a category: its words, its counts, its curve and its latest mistakes."""
        service.check_ready()
        found = await asyncio.to_thread(service.category, name)
        mistakes = await look_up(service, lambda: service.latest_mistakes(name))
        return answer(found | {"mistakes": mistakes})

    changed = {"category": {"name": "$response.body#/categories/0"}, "undo": {"id": "$response.body#/id"}}

    @app.post("/v1/categories", **route("admin", outcomes.Changed, takes=bodies.CategoryChangeIn, leads=changed))
    async def change_categories(request: Request) -> Response:
        """Add a category, give one another name or threshold, join some, or retire one."""
        holder = holder_of(request)
        given = (await body_of(request, bodies.CategoryChangeIn)).root
        id = given.id or uuid4().hex
        return answer(await keep(service, lambda: service.change_categories(id, given, user_of(holder, given.user))))
