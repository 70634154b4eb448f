"""Results that are the same but for the rounding of sums."""

import dataclasses
import math


def agree(left, right, path="", *, within=1e-12):
    """Whether two results are the same but for the rounding of sums; names the place where they differ."""
    if dataclasses.is_dataclass(left):
        assert type(left) is type(right), path
        for item in dataclasses.fields(left):
            agree(getattr(left, item.name), getattr(right, item.name), f"{path}.{item.name}", within=within)
    elif isinstance(left, dict):
        assert left.keys() == right.keys(), path
        for key in left:
            agree(left[key], right[key], f"{path}[{key}]", within=within)
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right), path
        for number, pair in enumerate(zip(left, right, strict=True)):
            agree(*pair, f"{path}[{number}]", within=within)
    elif isinstance(left, float):
        assert isinstance(right, float), path
        assert math.isclose(left, right, rel_tol=within, abs_tol=1e-12) or (
            left != left and right != right
        ), path
    else:
        assert left == right, path
