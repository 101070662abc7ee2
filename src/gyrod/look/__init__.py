"""Look at results: plots."""

from gyrod.look.plots import PLOTS, plot

__all__ = ["PLOTS", "plot"]
