"""The experiments of Dagan, Karov and Roth (1997), and the systems that their tables compare."""

__version__ = "0.2.0"
