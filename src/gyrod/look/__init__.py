"""Look at results: plots, and the viewer, whose page is made only when it is asked for."""

from gyrod.look import scene
from gyrod.look.film import animate
from gyrod.look.plots import PLOTS, plot, plot_modes, plot_path

__all__ = ["PLOTS", "animate", "plot", "plot_modes", "plot_path", "scene"]
