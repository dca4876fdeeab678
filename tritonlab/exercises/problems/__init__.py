"""The problems, one file a chapter, each with a tuple ``PROBLEMS``."""

CHAPTERS = ("vector_add", "bias_gelu", "softmax", "rmsnorm", "matmul", "grouped_matmul", "autotune")
"""The chapters in the order in which they are read; a chapter that is not here comes after them."""
