"""Files in and out: LETOR/SVMlight text, side files, pairs, TREC files, ``.npz``, tables.

Readers take a path, a binary file object or bytes; writers a path, which they replace as a whole or not at
all, or a binary file object. Every error names the file and, where it is text, line and column.
"""

from marginrank.io.dataset import convert_to_dataset, open_dataset, write_dataset
from marginrank.io.formats import FORMATS, Format, format_of, read, write
from marginrank.io.judgements import Judgements, dump_judgements, load_judgements
from marginrank.io.letor import load_letor
from marginrank.io.letor_writer import dump_letor
from marginrank.io.npz import dump_npz, load_npz
from marginrank.io.pairs import Pairs, docids, dump_pairs, load_pairs
from marginrank.io.side_files import dump_group, dump_weight, load_group, load_weight, with_side_files
from marginrank.io.table_writer import dump_table
from marginrank.io.tables import load_table
from marginrank.io.trec import Qrels, Run, dump_qrels, dump_run, load_qrels, load_run
from marginrank.storage.disk_dataset import DiskDataset

__all__ = [
    "FORMATS",
    "DiskDataset",
    "Format",
    "Judgements",
    "Pairs",
    "Qrels",
    "Run",
    "convert_to_dataset",
    "docids",
    "dump_group",
    "dump_judgements",
    "dump_letor",
    "dump_npz",
    "dump_pairs",
    "dump_qrels",
    "dump_run",
    "dump_table",
    "dump_weight",
    "format_of",
    "load_group",
    "load_judgements",
    "load_letor",
    "load_npz",
    "load_pairs",
    "load_qrels",
    "load_run",
    "load_table",
    "load_weight",
    "open_dataset",
    "read",
    "with_side_files",
    "write",
    "write_dataset",
]
