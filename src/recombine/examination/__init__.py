"""Questions to a trained network of any framework: does it reuse its parts?"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
