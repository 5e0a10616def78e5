"""What exchanges take: profiles of networks, models fitted to their samples, predictions."""
