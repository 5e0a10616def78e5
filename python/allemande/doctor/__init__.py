"""What this machine offers allemande: facts are collected (collect.py, mpi.py), then judged."""
