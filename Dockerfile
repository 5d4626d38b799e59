# The service as an image. docker build -t thresher . ; docs/deployment.md says how to run it.

FROM python:3.13-slim AS build
# Code for any x86-64 processor since 2013, so that what is compiled here is taken up wherever the image runs. Older
# ones need "generic", others a name that LLVM knows ("neoverse-n1").
ARG NUMBA_CPU_NAME=x86-64-v3
ENV NUMBA_CPU_NAME=$NUMBA_CPU_NAME NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/opt/thresher/kernels
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY requirements/serve.txt ./requirements/
COPY src ./src
RUN python -m venv /opt/thresher \
    && /opt/thresher/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/serve.txt \
    && /opt/thresher/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps .
# Each verb compiles the kernels that it needs, and keeps them in the folder of NUMBA_CACHE_DIR.
WORKDIR /warm
RUN printf '{"text": "The lamp outside my house is dark again", "accept": ["lighting"]}\n' > corrections.jsonl \
    && /opt/thresher/bin/thresher train sample:train -o desk.thresher --quiet \
    && /opt/thresher/bin/thresher predict desk.thresher sample:test --quiet > predicted.jsonl \
    && /opt/thresher/bin/thresher explain desk.thresher "The lamp outside my house is dark again" \
    && /opt/thresher/bin/thresher learn desk.thresher corrections.jsonl \
    && /opt/thresher/bin/thresher undo desk.thresher

FROM python:3.13-slim
ARG NUMBA_CPU_NAME=x86-64-v3
ENV NUMBA_CPU_NAME=$NUMBA_CPU_NAME NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/tmp/kernels \
    PATH=/opt/thresher/bin:$PATH PYTHONDONTWRITEBYTECODE=1 XDG_DATA_HOME=/data XDG_CACHE_HOME=/data/cache
RUN useradd --system --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin thresher \
    && install --directory --owner=thresher --mode=0700 /data
COPY --from=build /opt/thresher /opt/thresher
USER 10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from http.client import HTTPConnection as To; to = To('127.0.0.1', 8765, timeout=4); to.request('GET', '/healthz'); raise SystemExit(to.getresponse().status != 200)"]
# Numba takes no folder that it cannot write to: the compiled kernels go to the container's /tmp first.
ENTRYPOINT ["/bin/sh", "-c", "cp -R --no-preserve=mode /opt/thresher/kernels /tmp/ && exec thresher \"$@\"", "thresher"]
CMD ["serve", "/data/desk.thresher", "--host", "0.0.0.0"]
