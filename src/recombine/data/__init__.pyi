from ._images import ImageData as ImageData
from ._images import digits as digits
from ._images import mnist as mnist
from ._images import normalised as normalised
from ._images import prototypes as prototypes
from ._images import template_mixtures as template_mixtures
