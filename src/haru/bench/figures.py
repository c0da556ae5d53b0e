"""Figures: percentiles, the conditions they were measured under, and where they are written."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path("bench-results")

Summary = dict[str, float]


def summary(values: Sequence[float], *, digits: int = 3) -> Summary:
    """Median, p95, p99 and maximum."""
    if not values:
        return {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}
    array = np.asarray(values, float)
    points = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
    return {name: round(float(np.percentile(array, point)), digits) for name, point in points.items()}


def conditions(**more: object) -> dict[str, Any]:
    """What the figures were measured on. Names no machine."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": {name: version(name) for name in ("haru", "numpy", "pydantic")},
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        **more,
    }


def write(name: str, result: Mapping[str, Any], file: Path | None) -> Path:
    """Keep a result as JSON; returns where."""
    path = file or RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    return path


def resident_mib() -> float:
    """Memory of this process that really is in RAM."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def one_thread() -> None:
    """Run with one compute thread, as figures are given for: numpy reads this when it is first imported."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    if any(os.environ.get(name) != "1" for name in names):
        os.environ.update(dict.fromkeys(names, "1"))
        os.execv(sys.executable, [sys.executable, "-m", "haru.app.cli", *sys.argv[1:]])  # noqa: S606 - itself again


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
