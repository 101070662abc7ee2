"""Load paths: what the parameter does, one point, the way, and the result."""
