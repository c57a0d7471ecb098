"""The lab: what runs studies (plan, execute, checkpoint, store, report)."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
