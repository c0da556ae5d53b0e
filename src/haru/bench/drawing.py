"""Drawing: pictures of figures, without a screen. Needs the extra `bench`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from haru.errors import ExtraMissing


def axes(width_in: float, height_in: float) -> tuple[Any, Any]:
    """An empty chart and its axes.

    Raises:
        ExtraMissing: matplotlib is not installed.
    """
    try:
        importlib.import_module("matplotlib").use("Agg")
    except ModuleNotFoundError:
        raise ExtraMissing("the drawing of plots", "pip install 'haru[bench]'") from None
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    return pyplot.subplots(figsize=(width_in, height_in))


def save(chart: Any, file: Path) -> None:
    """Write a chart as PNG."""
    chart.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    chart.savefig(file, dpi=120)
