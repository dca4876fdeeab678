"""Traces: what a piece of code launched, recorded."""
