"""Metrics for Prometheus, at ``/metrics-prometheus`` if ``CLUELINE_PROMETHEUS=on``.

Workers write them to files in one folder, named by an environment variable that ``server`` sets before this module is
imported.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from flask import Flask, Response, g, request
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import InfoMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from clueline.dashboard.settings import VERSION

ADDRESS = "/metrics-prometheus"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client's environment variable
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # seconds
UPLOADS_ENDPOINTS = ("api.post_runs", "api.post_datasets")

requests_answered = Counter("clueline_requests", "Requests answered.", ["method", "endpoint", "status"])
request_seconds = Histogram("clueline_request_seconds", "Seconds to the start of a response.", ["endpoint"], buckets=BUCKETS)
cache_reads = Counter("clueline_cache_reads", "Results looked up in the cache.", ["result"])
cache_failures = Counter("clueline_cache_failures", "Times the cache could not be read or written.")
computing = Gauge("clueline_computing", "Results being computed now.", multiprocess_mode="livesum")
uploads = Counter("clueline_uploads", "Files uploaded to be stored or checked.", ["outcome"])


def count_requests(server: Flask) -> None:
    """Count the requests to a server."""
    server.after_request(_count)


def install(server: Flask, data_version: Callable[[], str]) -> None:
    """Serve the metrics at ``ADDRESS``. ``data_version`` returns the current data version, or raises."""

    def figures() -> Response:
        registry = CollectorRegistry()
        registry.register(_Versions(data_version))
        text = generate_latest(registry)
        if os.environ.get(FOLDER):
            shared = CollectorRegistry()
            MultiProcessCollector(shared)
            text += generate_latest(shared)
        else:
            text += generate_latest(REGISTRY)
        return Response(text, content_type=CONTENT_TYPE_LATEST)

    server.add_url_rule(ADDRESS, view_func=figures)


class _Versions(Collector):
    """The current versions. Multiprocess mode has no metric of this kind, because texts cannot be added up."""

    def __init__(self, data_version: Callable[[], str]) -> None:
        self._data_version = data_version

    def collect(self) -> Iterator[InfoMetricFamily]:
        versions = {"version": VERSION, "data_version": self._data_version()}
        yield InfoMetricFamily("clueline", "Versions of Clueline and of the current data.", versions)


def _count(response: Response) -> Response:
    rule = request.url_rule.rule if request.url_rule else ""  # an unknown path must not create a new time series
    requests_answered.labels(request.method if rule else "", rule, response.status_code).inc()
    request_seconds.labels(rule).observe(time.monotonic() - g.began)
    if request.endpoint in UPLOADS_ENDPOINTS:
        uploads.labels(_outcome(response.status_code)).inc()
    return response


def _outcome(status: int) -> str:
    if status >= 500:
        return "failed"
    return {200: "nothing new", 201: "stored", 422: "bad rows"}.get(status, "refused")
