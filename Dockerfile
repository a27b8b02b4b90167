# Build: docker build -t clueline .
# Run:   docker run -p 8050:8050 -v clueline:/store clueline
# Pinned: docker build --build-arg BASE=python:3.13-slim@sha256:... -t clueline . (docs/installing.md)
ARG BASE=python:3.13-slim
FROM ${BASE}

LABEL org.opencontainers.image.title="Clueline" \
      org.opencontainers.image.description="Interactive calibration dashboard" \
      org.opencontainers.image.licenses="MIT"

# The user owns the store and nothing else. No program can give it another user's rights.
RUN useradd --uid 10001 --no-create-home --home-dir /store --shell /usr/sbin/nologin clueline \
    && install -d -o clueline -g clueline /store \
    && find / -xdev -perm /6000 -type f -exec chmod a-s {} +

WORKDIR /app

# Before the code, so that a change of the code keeps this layer. Tests and source maps are a fifth of the packages' size.
COPY requirements.lock ./
RUN pip install --no-cache-dir --root-user-action=ignore --no-compile \
        --only-binary :all: --require-hashes -r requirements.lock \
    && find /usr/local/lib/python3* -type d -name tests -prune -exec rm -rf {} + \
    && find /usr/local/lib/python3* -name '*.map' -delete

COPY LICENSE pyproject.toml README.md CHANGELOG.md CONTRIBUTING.md ./
COPY docs docs/
COPY assets assets/
COPY data data/
COPY queries queries/
COPY dashboard dashboard/
COPY scripts/package scripts/package/
ENV PYTHONPATH=/app/scripts/package
# Compiled here because the user may not write: our code, and what it imports from the packages.
RUN python -m compileall -q data queries dashboard scripts/package \
    && python -c "import clueline.dashboard.cli, clueline.dashboard.process.server, clueline.dashboard.uploads.import_process; from clueline.dashboard.app import create_app; from clueline.dashboard.settings import Settings; create_app(Settings(store='/tmp/none'))" \
    && rm -rf /tmp/*

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CLUELINE_HOST=0.0.0.0 \
    CLUELINE_PORT=8050 \
    CLUELINE_STORE=/store

USER 10001:10001
VOLUME /store
EXPOSE 8050

# Without a proxy, even if the environment names one. A status of 400 or more raises.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['CLUELINE_PORT'] + '/healthz', timeout=4)"]

CMD ["python", "-m", "clueline", "serve"]
