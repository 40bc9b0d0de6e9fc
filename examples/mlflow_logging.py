"""Log a training as a run of MLflow: parameters, certificate, held-out metrics and the model file.

Needs ``pip install mlflow`` (or ``mlflow-skinny`` with a tracking server)::

    python examples/mlflow_logging.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import mlflow

from marginrank import RankingData, RankSVM
from marginrank.datasets import make_ranking
from marginrank.metrics import evaluate

METRICS = ["ndcg@10", "map", "mrr"]


def log_training(ranker: RankSVM, train: RankingData, test: RankingData) -> dict[str, float]:
    """Train within a run of MLflow, and return what was measured on test queries."""
    with mlflow.start_run():
        ranker.fit(train)
        mlflow.log_params({name: value for name, value in ranker.get_params().items() if value is not None})
        mlflow.log_metrics({"objective": ranker.objective_, "gap": ranker.gap_, "n_iter": ranker.n_iter_})
        measured = evaluate(test.y, ranker.predict(test), qid=test.qid, metrics=METRICS)
        # MLflow takes no @ in names.
        found = {name.replace("@", "_at_"): value for name, value in measured.items()}
        mlflow.log_metrics(found)
        with tempfile.TemporaryDirectory() as folder:
            ranker.save(Path(folder) / "model.mrk")
            mlflow.log_artifact(str(Path(folder) / "model.mrk"))
    return found


def main() -> None:
    """Train on made data."""
    X, y, qid = make_ranking(200, 15)
    data = RankingData(X, y, qid=qid)
    print(log_training(RankSVM(alpha=1e-3), data.subset(qid < 150), data.subset(qid >= 150)))


if __name__ == "__main__":
    main()
