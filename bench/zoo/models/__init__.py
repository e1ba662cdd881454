"""The zoo's posteriors, each a log density in JAX over real coordinates, with small synthetic data.

A family is one module-level density `log_density(z, data)`: sizes and seeds share it, and so its compiled code.
"""

from . import hierarchies, later, latent, parts, regressions, series, shapes

FAMILIES = [regressions, hierarchies, series, latent, shapes, parts, later]


def problems():
    """All of them, in a fixed order, with names that are unlike each other."""
    found = [problem for family in FAMILIES for problem in family.problems()]
    names = [problem.name for problem in found]
    assert len(set(names)) == len(names), "two problems share a name"
    return found
