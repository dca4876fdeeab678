"""The problems, one file a chapter, each with a tuple ``PROBLEMS``."""
