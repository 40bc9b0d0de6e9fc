"""Examples that need other programs run against these, and against a recorder of what they call."""

import importlib.util
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from marginrank import RankingModel

EXAMPLE = Path(__file__).parents[2] / "examples" / "mlflow_logging.py"


class Recorder(ModuleType):
    """What the example calls of MLflow."""

    def __init__(self):
        super().__init__("mlflow")
        self.parameters, self.metrics, self.models, self.runs = {}, {}, [], 0

    @contextmanager
    def start_run(self):
        self.runs += 1
        yield

    def log_params(self, parameters):
        self.parameters.update(parameters)

    def log_metrics(self, metrics):
        assert all(isinstance(value, int | float) for value in metrics.values())
        assert not any("@" in name for name in metrics)
        self.metrics.update(metrics)

    def log_artifact(self, file):
        self.models.append(RankingModel.load(file))


def test_mlflow_gets_parameters_certificate_figures_and_the_model(monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "mlflow", recorder)
    spec = importlib.util.spec_from_file_location("mlflow_logging", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main()
    assert recorder.runs == 1
    assert recorder.parameters["alpha"] == 1e-3
    assert recorder.metrics["gap"] <= 1e-3
    assert recorder.metrics["ndcg_at_10"] > 0.8
    assert recorder.models[0].metadata["estimator"] == "RankSVM"


def test_the_example_runs_with_mlflow(tmp_path):
    if importlib.util.find_spec("mlflow") is None:
        pytest.skip("MLflow is not installed, which the extra 'test' does wherever it has a release")
    settings = {"MLFLOW_TRACKING_URI": "sqlite:///runs.db", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment = {**os.environ, **settings, "DO_NOT_TRACK": "true"}
    done = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert b"ndcg_at_10" in done.stdout
    assert list(tmp_path.rglob("model.mrk"))
