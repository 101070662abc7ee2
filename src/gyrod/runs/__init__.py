"""What is said about a run before it runs: its options, formulations and methods, each declared once.

Nothing here computes, and nothing needs NumPy until a value is checked: the command line reads the declarations.
"""
