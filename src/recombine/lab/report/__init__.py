"""The report: a self-contained site of everything in a store."""

from ._build import write_report as write_report
from ._formulas import with_formulas as with_formulas
