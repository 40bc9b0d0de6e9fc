import numpy as np
import pytest
from scipy import optimize

from marginrank.solvers.compact_hessian import CompactHessian
from marginrank.solvers.penalised_model import model_step
from marginrank.solvers.penalties import ElasticNet
from marginrank.solvers.quadratic_forms import DenseForm

N, ALPHA = 12, 0.2


def problem(seed, penalty):
    """Return a Hessian, its matrix without the penalty's modulus, a start, and the risk's gradient there."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((N, N // 2)) * 10.0 ** rng.uniform(-1, 1, (N, 1))
    risk = root @ root.T
    w = penalty.nearest(np.where(rng.random(N) < 0.5, rng.standard_normal(N), 0.0))
    hessian = CompactHessian(DenseForm(risk, penalty.modulus(ALPHA)), 1.0, [])
    return hessian, risk, w, 5.0 * rng.standard_normal(N)


def model_value(risk, gradient, w, penalty, end):
    move = end - w
    return gradient @ move + 0.5 * move @ risk @ move + penalty.value(end, ALPHA)


def least_value(risk, gradient, w, penalty):
    """Minimise the model by L-BFGS-B in positive and negative parts."""
    low, high = (np.broadcast_to(end, N) for end in (penalty.low, penalty.high))

    def value_and_gradient(parts):
        plus, minus = parts[:N], parts[N:]
        end = plus - minus
        slope = gradient + risk @ (end - w) + penalty.modulus(ALPHA) * end
        kink = penalty.kink(ALPHA)
        value = gradient @ (end - w) + 0.5 * (end - w) @ risk @ (end - w)
        value += 0.5 * penalty.modulus(ALPHA) * end @ end + kink * parts.sum()
        return value, np.concatenate([slope + kink, kink - slope])

    box = [(max(a, 0.0), max(b, 0.0)) for a, b in zip(low, high, strict=True)]
    box += [(max(-b, 0.0), max(-a, 0.0)) for a, b in zip(low, high, strict=True)]
    found = optimize.minimize(
        value_and_gradient,
        np.array([0.5 * (a + min(b, a + 1.0)) for a, b in box]),
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return found.fun


@pytest.mark.parametrize(
    "penalty",
    [
        ElasticNet(0.0, low=-0.1, high=0.1),
        ElasticNet(0.0, low=0.0),
        ElasticNet(0.9),
        ElasticNet(0.6, low=-0.2, high=0.05),
    ],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(5))
def test_repeated_steps_lead_to_the_minimiser_of_the_model(penalty, seed):
    hessian, risk, start, gradient = problem(seed, penalty)
    at = start
    values = [model_value(risk, gradient, start, penalty, at)]
    for _ in range(100):
        risk_gradient = gradient + risk @ (at - start)
        smooth = risk_gradient + penalty.modulus(ALPHA) * at
        smallest = penalty.smallest_subgradient(at, risk_gradient, ALPHA)
        at = at + model_step(penalty, ALPHA, hessian, at, smooth, smallest)
        values.append(model_value(risk, gradient, start, penalty, at))
    least, size = least_value(risk, gradient, start, penalty), abs(values[0] - values[-1])
    assert values[-1] <= least + 1e-7 * size
    # One call takes steps until they gain little: most of what there is to gain.
    assert values[0] - values[1] >= 0.5 * size
    assert np.all(np.diff(values) <= 1e-12 * size)


def test_where_nothing_leads_down_there_is_no_step():
    penalty = ElasticNet(0.5, low=0.0)
    hessian, _, _, _ = problem(0, penalty)
    w, gradient = np.zeros(N), np.ones(N)
    smallest = penalty.smallest_subgradient(w, gradient, ALPHA)
    assert not model_step(penalty, ALPHA, hessian, w, gradient, smallest).any()
