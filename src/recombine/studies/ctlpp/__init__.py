"""CTL++: functions that are known, in patterns that training never shows."""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
