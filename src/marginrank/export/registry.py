"""The targets by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from marginrank.export.base import Target
from marginrank.export.elasticsearch import Elasticsearch, OpenSearch
from marginrank.export.onnx import Onnx
from marginrank.export.plain_json import PlainJson
from marginrank.export.pmml import Pmml
from marginrank.export.ranklib import RankLib
from marginrank.export.solr import Solr
from marginrank.export.sql import Sql
from marginrank.export.svmrank import SvmRank
from marginrank.export.vespa import Vespa

_TARGETS: tuple[Target, ...] = (
    Elasticsearch(),
    OpenSearch(),
    Solr(),
    Vespa(),
    Sql(),
    Onnx(),
    Pmml(),
    PlainJson(),
    RankLib(),
    SvmRank(),
)
TARGETS: Mapping[str, Target] = {target.name: target for target in _TARGETS}
