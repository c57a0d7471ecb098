from . import data as data
from . import examination as examination
from . import lab as lab
from . import learning as learning
from . import models as models
from . import probes as probes
from . import splits as splits
from . import studies as studies
from . import tasks as tasks
from . import theory as theory
from .examination import examine as examine
from .lab.load import load as load
from .splits._diagnosis import diagnose as diagnose

__version__: str
