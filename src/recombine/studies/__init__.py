"""Studies: every published figure and table as a recipe that runs.

`STUDIES` registers each by name: the module that assigns `study`. A new study is one file and one
line here.
"""

STUDIES: dict[str, str] = {}
