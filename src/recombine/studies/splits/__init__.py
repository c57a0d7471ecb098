"""Does the diagnosis of a split tell the truth? What it predicts, beside what networks do."""

DOCUMENT = "recombine (divergence: Keysers et al. 2020; designs: Gao et al. RSS 2024)"
