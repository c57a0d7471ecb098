"""Discovering modular solutions: when does a modular student recover a modular teacher?"""

DOCUMENT = "Schug et al.: Discovering modular solutions that generalize compositionally (2024)"
