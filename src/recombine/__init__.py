"""recombine: a workbench for compositional generalization.

The sub-packages hold the parts (`tasks`, `splits`, `models`, `learning`, `probes`, `theory`,
`data`), the `studies` that put them together and the `lab` that runs studies. All of them are
loaded on first use, so `import recombine` is fast.
"""

import lazy_loader as _lazy

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
