"""The tracer takes any design and loss; here a structured one."""

import numpy as np

from marginrank import RankingData
from marginrank.designs import MatrixDesign
from marginrank.losses.structured import structured_loss
from marginrank.paths.certified_paths import certified_path
from marginrank.solvers import QuasiNewton
from marginrank.solvers.objective import Objective
from marginrank.training.problems import Problem, RawColumns


def test_the_path_of_a_structured_loss_is_within_eps_of_separate_solutions():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 5)), np.arange(120) // 10
    y = (X @ rng.normal(size=5) + rng.normal(size=120) > 0.5).astype(float)
    data = RankingData(X, y, qid=qid)
    view = data.training_view()
    loss = structured_loss(view, "map", n_threads=1)
    design = MatrixDesign(data.X, view.rows, n_threads=1)
    path = certified_path(Problem(data, lambda view: loss, RawColumns(data.X, None, 1)), 1.0, 1e-2, 1e-2)
    assert path.status_ == "finished"
    for alpha in np.geomspace(0.9, 0.011, 15):
        w = path.coef_at(alpha)
        value = loss.at(design.scores(w)).value + 0.5 * alpha * w @ w
        best = QuasiNewton(tol=1e-5, max_iter=5000).minimize(Objective(design, loss, alpha))
        assert (value - best.bound) / value <= 1e-2 + 1e-5
