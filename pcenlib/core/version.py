"""The version of pcenlib and of the book: stated here, and repeated in CITATION.cff and _config.yml."""

__version__ = "0.1.0"
