"""Random sparse matrices that are the same with every release of scipy."""

import numpy as np
from scipy import sparse


def random_csr(shape, density, rng):
    """Return a CSR array with uniform entries in a given share of its places."""
    # Not scipy's random_array, whose generator is called random_state before 1.15 and rng from there on.
    n_places = shape[0] * shape[1]
    places = rng.choice(n_places, size=round(density * n_places), replace=False)
    return sparse.csr_array((rng.random(len(places)), np.unravel_index(places, shape)), shape=shape)
