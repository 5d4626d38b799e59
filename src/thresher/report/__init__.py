"""Evaluation reports: one self-contained HTML page about a model and its evaluation; needs the extra `report`."""

from thresher.report.page import make_report, write_report

__all__ = ["make_report", "write_report"]
