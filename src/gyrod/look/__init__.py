"""Look at results: plots, and the viewer, whose page is made on demand."""

from typing import TYPE_CHECKING

from gyrod._lazy import lazy

if TYPE_CHECKING:
    from gyrod.look import scene
    from gyrod.look.film import animate
    from gyrod.look.plots import PLOTS, plot, plot_modes, plot_path
else:
    __getattr__, __dir__ = lazy(__name__, {"": "scene", "film": "animate", "plots": "PLOTS plot plot_modes plot_path"})

__all__ = ["PLOTS", "animate", "plot", "plot_modes", "plot_path", "scene"]
