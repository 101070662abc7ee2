"""python -m gyrod.cli."""

from gyrod.cli import main

main()
