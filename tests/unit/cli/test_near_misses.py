"""What is mistyped is answered by what was probably meant."""

import pytest

from marginrank.cli.app import run as command


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["trian", "train.txt"], "No such command 'trian'. Did you mean 'train'?"),
        (["Train", "train.txt"], "No such command 'Train'. Did you mean 'train'?"),
        (["xyz"], "Error: No such command 'xyz'."),
        (
            ["evaluate", "m.mrk", "d"],
            "m.mrk is a model, where data are expected; the order is DATA... SCORES.",
        ),
        (
            ["compare", "m.mrk", "d", "e"],
            "m.mrk is a model, where data are expected; the order is DATA SCORES...",
        ),
        (["predict", "d", "m.mrk"], "m.mrk is a model, where data are expected; the order is MODEL DATA..."),
        (["train", "d", "-o", "m", "--alhpa", "1"], "--alpha"),
        (["train", "d", "-o", "m", "-alpha", "1"], "No such option '-a'. Did you mean '--alpha'?"),
        (
            ["train", "d", "-o", "m", "--alpha", "Auto"],
            "neither a positive number nor 'auto'. Did you mean 'auto'?",
        ),
        (["train", "d", "-o", "m", "--alpha", "-1"], "'-1' is neither a positive number nor 'auto'."),
        (["train", "d", "-o", "m", "--kernel", "RBF"], "Did you mean 'rbf'?"),
        (["train", "d", "-o", "m", "--loss", "squared-hinge"], "Did you mean 'squared_hinge'?"),
        (["train", "d", "-o", "m", "--method", "rls"], "Did you mean 'rankrls'?"),
        (["train", "d", "-o", "m", "--target", "ndgc@10"], "Did you mean 'ndcg'?"),
        (["train", "d", "-o", "m", "-m", "ndgc@10"], "did you mean 'ndcg'?"),
        (["train", "d", "-o", "m", "-m", "ndcg10"], "did you mean 'ndcg@10'?"),
        *(
            (
                ["tune", "d", "--alphas", grid],
                "numbers with commas between, such as 1e-4,1e-3,1e-2, nor from:to:count",
            )
            for grid in ("1e-4;1", "1e-4:1", "1e-4:1:x", "1e-4:1:1", "0:1:5", "1,,2", "1 2", "a", "1:2:3:4")
        ),
    ],
)
def test_a_near_miss_gets_a_suggestion(arguments, sentence, capsys):
    assert command(arguments) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
