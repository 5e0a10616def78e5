"""Faster MPI_Alltoall on networks that congest."""

__version__ = "0.1.0"
