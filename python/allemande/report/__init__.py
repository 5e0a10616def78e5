"""Plots and self-contained pages of measured figures."""
