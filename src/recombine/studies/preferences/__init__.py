"""Do meta-learned hypernetworks find the modules behind an agent's preferences?"""

DOCUMENT = "Schug et al.: Discovering modular solutions that generalize compositionally (2024)"
