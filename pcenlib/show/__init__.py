"""How does a person see and hear it?

Figures and players for what was computed elsewhere.
"""
