"""Plots, pages and texts made of measured figures and of clusters."""
