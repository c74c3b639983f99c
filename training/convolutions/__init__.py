"""Convolutions of students. On a processor, those of 3x3 have a quarter of the usual multiplications."""
