"""Rules: how a model learns, and the compiled loop that carries a rule out."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
