"""The Neural Race Reduction: how pathways that share structure learn first, and win."""

DOCUMENT = "Saxe, Sodhani & Lewallen: The Neural Race Reduction (2022)"
