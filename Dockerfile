# Build: docker build -t clueline .
# Run:   docker run -p 8050:8050 -v clueline:/store clueline
FROM python:3.13-slim

LABEL org.opencontainers.image.title="Clueline" \
      org.opencontainers.image.description="Interactive calibration dashboard" \
      org.opencontainers.image.licenses="MIT"

# The user owns the store and nothing else.
RUN useradd --uid 10001 --no-create-home --home-dir /store --shell /usr/sbin/nologin clueline \
    && install -d -o clueline -g clueline /store

WORKDIR /app

# Apart from the code, so that a change of the code keeps this layer.
COPY requirements.lock ./
RUN pip install --no-cache-dir --root-user-action=ignore \
        --only-binary :all: --require-hashes -r requirements.lock

COPY LICENSE pyproject.toml ./
COPY assets assets/
COPY data data/
COPY queries queries/
COPY dashboard dashboard/
# Compiled here, for the user may not write to /app.
RUN python -m compileall -q data queries dashboard

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CLUELINE_HOST=0.0.0.0 \
    CLUELINE_PORT=8050 \
    CLUELINE_STORE=/store

USER 10001:10001
VOLUME /store
EXPOSE 8050

# Without a proxy, should the environment name one. An answer of 400 or more raises.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['CLUELINE_PORT'] + '/healthz', timeout=4)"]

CMD ["python", "-m", "dashboard", "serve"]
