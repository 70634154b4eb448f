"""thinktime measures, explains and predicts interactive multi-user systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Log", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Imported on first use: `import thinktime` must stay cheap, and polars alone takes 0.1 s.
    if name == "Log":
        from thinktime.log import Log

        return Log
    raise AttributeError(f"module 'thinktime' has no attribute {name!r}")
