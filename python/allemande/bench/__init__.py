"""Measures MPI_Alltoall candidates side by side: same cluster, same run, every byte checked."""
