"""The report as one self-contained HTML page."""
from reid_ref.report.html.page import page
from reid_ref.report.html.pictures import Images

__all__ = ["Images", "page"]
