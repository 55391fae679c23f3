"""Reports: one page that says what became of the messages of a store, and what would mend what went wrong.

`collect_figures` computes, `write_page` shows. The page needs no server and asks for nothing from elsewhere.
"""

from conjoin.pipeline.report.collecting import collect_figures
from conjoin.pipeline.report.page import page_of, write_page

__all__ = ["collect_figures", "page_of", "write_page"]
