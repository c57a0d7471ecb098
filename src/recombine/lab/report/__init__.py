"""The report: a self-contained site of everything in a store, and pages that are one file."""

from ._alone import page_of_its_own as page_of_its_own
from ._build import write_report as write_report
from ._formulas import with_formulas as with_formulas
