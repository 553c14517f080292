"""Voice privacy, reproduced and measured.

See the book for the whole story; each module's docstring says what it is for.
"""

__version__ = "0.1.0"
