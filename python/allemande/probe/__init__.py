"""The prober: measures a running cluster, or a simulated one, by experiments (docs/probe.md)."""
