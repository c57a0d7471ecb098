from ._loop import AbstractRule as AbstractRule
from ._loop import Progress as Progress
from ._loop import train as train
