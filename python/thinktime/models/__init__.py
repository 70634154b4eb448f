"""Models: numbers in, a frozen prediction out, with the assumptions that it rests on. No model sees a log.

>>> from thinktime import models
>>> prediction = models.mm1(arrivals_per_s=2.0, service_s=0.25)
>>> prediction["response_s"]
0.5

- `queueing`: operational laws and bounds (`operational_laws`), exact solutions of one station with Poisson
  arrivals (`open_stations`), closed networks (`networks`), open and mixed ones (`mixed_networks`),
  approximations of both (`approximations`), quantiles of response times (`response_times`) and visits by
  routes (`routing`);
- `swapping`: two systems that swap whole processes, compared (`disk_bound`, `swap_overhead`), and one,
  predicted (`response_time`);
- `paging`: throughput of a system with demand paging (`throughput`) and the number of processes that
  should be eligible (`eligible_limit`).

`CONTENTS` lists the public names, which are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

CONTENTS: dict[str, tuple[str, ...]] = {
    "prediction": ("Assumption", "Prediction", "Quantity"),
    "distributions": ("Distribution", "distribution"),
    "queueing.operational_laws": (
        "asymptotic",
        "balanced_job",
        "forced_flow",
        "little",
        "response_time",
        "utilisation",
    ),
    "queueing.open_stations": (
        "mg1",
        "mg1_las",
        "mg1_priorities",
        "mg1_ps",
        "mg1_srpt",
        "mm1",
        "mmc",
        "mmck",
    ),
    "queueing.networks": ("Station", "machine_repairman", "mva", "mva_classes"),
    "queueing.customers": ("Customers",),
    "queueing.mixed_networks": ("mixed",),
    "queueing.approximations": ("approximate", "linearizer", "schweitzer"),
    "queueing.general_service": ("general_service",),
    "queueing.response_times": ("mg1_quantiles", "response_quantiles"),
    "queueing.routing": ("visits",),
    "swapping.swap_disk": ("Configuration", "Drive", "loaded_processes"),
    "swapping.swap_overhead": ("one_loaded", "several_loaded"),
    "swapping.response_time": ("Swapping", "number_that_fit"),
    "paging.configuration": ("Paging",),
    "paging.stays": ("Program",),
}
"""Public names, by the module that defines them."""

_MODULES = {name: module for module, names in CONTENTS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
