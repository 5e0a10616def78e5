"""What the project measures about itself: the programs behind `make bench-*`. Not in the wheel."""
