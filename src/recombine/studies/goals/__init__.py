"""Do meta-learned hypernetworks recombine goals from one demonstration?"""

DOCUMENT = "Schug et al.: Discovering modular solutions that generalize compositionally (2024)"
