"""Files in and out."""

from marginrank.io.letor import load_letor
from marginrank.io.letor_writer import dump_letor

__all__ = ["dump_letor", "load_letor"]
