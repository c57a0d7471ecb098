"""How well each route of a routing network works, trained or not."""

from ..tasks._routes import RouteMeans as RouteMeans
from ..tasks._routes import route_errors as route_errors
from ..tasks._routes import route_means as route_means
