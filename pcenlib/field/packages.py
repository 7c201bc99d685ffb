"""What of the extra `field` is there: packages that searching does not need, but tables in Python and pictures do."""

import importlib.util

__all__ = ["require"]


def require(module: str, who: str) -> None:
    """Raise ModuleNotFoundError, and say how to get it, if a module of the extra `field` is not installed."""
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(f"{who} need {module}: pip install 'pcenlib[field]'", name=module)
