"""Models into search engines, databases and other programs: a registry of targets, one file each."""

from marginrank.export.checking import CheckedRows, ExportCheck
from marginrank.export.exporting import Export, export_model
from marginrank.export.float32_loss import Float32Warning
from marginrank.export.registry import TARGETS

__all__ = ["TARGETS", "CheckedRows", "Export", "ExportCheck", "Float32Warning", "export_model"]
