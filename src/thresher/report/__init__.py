"""One self-contained HTML page about a model and how it did on labelled documents; needs the extra `report`."""

from thresher.report.page import make_report, write_report

__all__ = ["make_report", "write_report"]
