"""Files that other programs read and write.

Tuning files for stock MPI libraries, schedules for simulators and GPUs, clusters as batch systems
and subnet managers describe them. One format, one module.
"""
