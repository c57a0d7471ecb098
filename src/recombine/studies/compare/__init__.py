"""Networks side by side on suites of tasks: what is familiar, and what is new in length, depth,
order or place."""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
