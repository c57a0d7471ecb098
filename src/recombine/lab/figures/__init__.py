"""Figures of studies: a few functions that give all figures one look.

A figure is made with `panels`, `heatmaps` or `graph`, and filled with the `add_...` functions.
plotly itself is imported when the first figure is drawn.
"""

from ._graph import graph as graph
from ._heatmaps import heatmaps as heatmaps
from ._marks import add_band as add_band
from ._marks import add_curve as add_curve
from ._marks import add_level as add_level
from ._marks import add_points as add_points
from ._marks import add_reference as add_reference
from ._marks import add_scatter as add_scatter
from ._marks import add_seeds as add_seeds
from ._marks import add_theory as add_theory
from ._panels import panels as panels
from ._routing_trace import routing_trace as routing_trace
from ._steps import add_steps as add_steps
from ._theme import PALETTE as PALETTE
from ._theme import shade as shade
from ._theme import template as template
