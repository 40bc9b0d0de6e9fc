"""``marginrank import``: a model that another program has learnt."""

from __future__ import annotations

import click

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.reading import check_files, keep_apart, read_names, source_of
from marginrank.cli.options import shared as options
from marginrank.cli.output.printing import counted, print_json
from marginrank.export.weights_files import PROGRAMS
from marginrank.model import RankingModel


@click.command("import", cls=Command)
@click.argument("source")
@option(
    "--from",
    "program",
    group=MOST_USED,
    type=click.Choice(list(PROGRAMS)),
    required=True,
    help="The program that wrote it.",
)
@option("-o", "--output", "file", group=MOST_USED, required=True, help="The model file to write (.mrk).")
@option(
    "--features",
    "n_features",
    group="Model",
    type=int,
    metavar="N",
    help="Number of features.  [default: as in SOURCE]",
)
@option(
    "--names",
    "feature_names",
    group="Model",
    metavar="FILE",
    help="Names of the features, one a line, feature 1 first, with or without their numbers.",
)
@options.as_json
def import_(
    source: str, program: str, file: str, n_features: int | None, feature_names: str | None, as_json: bool
) -> None:
    """Make a model of SOURCE, which another program has written.

    SOURCE is the text of a linear model: of RankLib (coordinate ascent, linear regression, AdaRank), of
    SVM^rank and SVM^light (linear kernel), or of LIBLINEAR (ranking, regression, two classes). The model
    scores as that program does.

    \b
    Examples:
      marginrank import weights.txt --from ranklib -o model.mrk
      marginrank import svmrank.dat --from svmrank -o model.mrk --names features.txt
    """
    keep_apart([file], [source, feature_names])
    check_files(feature_names=feature_names)
    names = None if feature_names is None else read_names(feature_names)
    model = RankingModel.from_weights(source_of(source), program, n_features=n_features, feature_names=names)
    with interrupts.orderly(writes=True):
        model.save(file)
    used = int((model.coef != 0).sum())
    if as_json:
        print_json({"model": file, "program": program, "features": model.n_features, "used": used})
    else:
        click.echo(f"wrote {file}: {counted(model.n_features, 'feature')}, {used:,} in use", err=True)
