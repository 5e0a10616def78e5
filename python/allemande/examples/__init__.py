"""The programs of `examples/`: built for each MPI, run stock and preloaded, compared."""
