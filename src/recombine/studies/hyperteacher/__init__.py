"""Do meta-learned hypernetworks find the modules behind a family of teacher networks?"""

DOCUMENT = "Schug et al.: Discovering modular solutions that generalize compositionally (2024)"
