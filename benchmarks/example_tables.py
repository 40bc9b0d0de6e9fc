"""The tables of the examples that draw pictures: what a smaller ``tol`` costs, what regularisations bring.

    python benchmarks/example_tables.py --save

Made data and fixed seeds; passes may differ by a few from one processor to another. It takes a few seconds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from results import Result, add_save_option

# Pictures and tables share one definition of what is trained.
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import plot_certificate
import plot_validation_table

HELD_OUT = {"held-out right pairs": "{held_out_right_pairs:.4f}"}
TOLERANCES = {"`tol`": "{tol}", "passes": "{passes:.1f}", "gap": "{gap:.1e}", **HELD_OUT}
REGULARIZATIONS = {
    "`regularization`": "{regularization}",
    "alpha": "[[{alpha:.2f}]]",
    "passes": "{passes:g}",
    **HELD_OUT,
}


def certificate() -> Result:
    """Return passes, gap and quality by tolerance."""
    train, test = plot_certificate.parts()
    result = Result("certificate", TOLERANCES)
    for tol, model in plot_certificate.by_tolerance(train).items():
        right = model.score(test)
        passes = model.history_[-1].passes
        result.add(f"{tol:.0e}", tol=f"{tol:g}", passes=passes, gap=model.gap_, held_out_right_pairs=right)
    return result


def validation_table() -> Result:
    """Return alpha, passes and quality by regularisation."""
    train, validation, test = plot_validation_table.parts()
    result = Result("validation-table", REGULARIZATIONS)
    for name, model in plot_validation_table.by_regularization(train, validation).items():
        alpha = {} if name == "early_stopping" else {"alpha": model.alpha_}
        right = model.score(test)
        shown = f'`"{name}"`'
        result.add(name, regularization=shown, **alpha, passes=model.n_passes_, held_out_right_pairs=right)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_save_option(parser)
    options = parser.parse_args()
    for result in (certificate(), validation_table()):
        for row in result.rows.values():
            print(*row.values(), sep="  ")
        if options.save:
            print(result.save())


if __name__ == "__main__":
    main()
