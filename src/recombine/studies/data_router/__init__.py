"""The neural data router: which transformers find the algorithm that works on longer inputs?"""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
