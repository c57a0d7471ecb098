"""What all studies of the family report: conclusions only of masks that leave the network able."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recombine.lab import Recorder

if TYPE_CHECKING:
    from recombine.probes import Gate


def conclude(recorder: Recorder, gate: "Gate", found: Mapping[str, Any]) -> None:
    """Report measurements of masks, if the control mask leaves enough of the accuracy.

    Otherwise there is none to judge: a claim that needs one is undecided, and says so.

    **Arguments:**

    - `gate`: what `probes.module_gate` makes of the accuracies without a mask and with that one.
    - `found`: numbers by name.
    """
    recorder.metric("control_kept", gate.kept)
    recorder.metric("valid", gate.valid)
    if gate.valid:
        for name, value in found.items():
            recorder.metric(name, value)
