"""Exchanges on simulated networks: one run, sweeps over all cores, and what came out."""
