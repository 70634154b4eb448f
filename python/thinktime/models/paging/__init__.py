"""Models of time-sharing systems with demand paging."""

from __future__ import annotations

from thinktime.models.paging.configuration import Paging
from thinktime.models.paging.eligible_limit import levels
from thinktime.models.paging.throughput import predict

__all__ = ["Paging", "levels", "predict"]
