"""Routes for the web page and its files."""

import re
from importlib import resources

from fastapi import FastAPI
from starlette.responses import Response

from thresher.web.errors import Problem
from thresher.web.guards import ASSETS

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SAFE_ASSET = re.compile(r"[a-z0-9_-]+\.(css|js|svg)")


def add_routes(app: FastAPI) -> None:
    """Add the routes for the page."""
    folder = resources.files("thresher.web") / "page"
    files = {
        file.name: (file.read_bytes(), _KINDS[suffix])
        for file in folder.iterdir()
        if (suffix := "." + file.name.rpartition(".")[2]) in _KINDS
    }
    fresh = {"cache-control": "no-cache"}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        if "index.html" not in files:
            raise Problem(404, "this installation has no page")
        return Response(files["index.html"][0], headers=fresh, media_type="text/html")

    @app.get(ASSETS + "{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files or not _SAFE_ASSET.fullmatch(name):
            raise Problem(404, "there is no such file")
        return Response(files[name][0], headers=fresh, media_type=files[name][1])
