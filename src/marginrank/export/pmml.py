"""Models as PMML 4.4: a ``RegressionModel``, in float64."""

from __future__ import annotations

from typing import ClassVar
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.types import Rows, Vector

_NAMESPACE = "http://www.dmg.org/PMML-4_4"


class Pmml(Target):
    """A regression model of PMML, whose target is the score."""

    name: ClassVar[str] = "pmml"
    title: ClassVar[str] = "A regression model of PMML"

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return an XML document; fields are the columns that are used."""
        columns = used_columns(model.coef).tolist()
        fields = [quoteattr(options.names[j]) for j in columns]
        score = quoteattr(_target(options.names))
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<PMML version="4.4" xmlns="{_NAMESPACE}">',
            '  <Header><Application name="marginrank"/></Header>',
            f'  <DataDictionary numberOfFields="{len(fields) + 1}">',
            *(
                f'    <DataField name={one} optype="continuous" dataType="double"/>'
                for one in [*fields, score]
            ),
            "  </DataDictionary>",
            f'  <RegressionModel modelName={quoteattr(options.model_name)} functionName="regression">',
            "    <MiningSchema>",
            *(f'      <MiningField name={one} usageType="active"/>' for one in fields),
            f'      <MiningField name={score} usageType="target"/>',
            "    </MiningSchema>",
            f'    <RegressionTable intercept="{float(model.intercept)!r}">',
            *(
                f'      <NumericPredictor name={one} coefficient="{float(model.coef[j])!r}"/>'
                for one, j in zip(fields, columns, strict=True)
            ),
            "    </RegressionTable>",
            "  </RegressionModel>",
            "</PMML>",
        ]
        return Written(("\n".join(lines) + "\n").encode(), used_columns(model.coef))

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return a replica of the specification: the intercept and the weighted values, in their order."""
        document = ElementTree.fromstring(content)
        place = {name: j for j, name in enumerate(options.names)}
        (table,) = document.iter(f"{{{_NAMESPACE}}}RegressionTable")
        intercept = float(table.attrib["intercept"])
        predictors = [(place[one.attrib["name"]], float(one.attrib["coefficient"])) for one in table]

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            scores = np.full(len(X), intercept)
            for column, weight in predictors:
                scores += weight * X[:, column]
            return scores

        return score


def _target(names: tuple[str, ...]) -> str:
    """Return what the scores are called: as no column of the model is."""
    name = "score"
    while name in names:
        name += "_"
    return name
