from ._examination import Examination as Examination
from ._examination import LayerReport as LayerReport
from ._examination import ModuleReport as ModuleReport
from ._examination import OutputReport as OutputReport
from ._examination import Score as Score
from ._examine import examine as examine
