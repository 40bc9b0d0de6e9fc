"""Bad files of the other formats: who reads them, the content, and the sentence (None: any)."""

from io import BytesIO

import pyarrow as pa
from pyarrow.parquet import write_table

from marginrank import io as mio


def parquet(**columns):
    file = BytesIO()
    write_table(pa.table(columns), file)
    return file.getvalue()


BAD = {
    "group word": (
        mio.load_group,
        b"3\nx\n",
        "<bytes>:2:1: expected the size of a query (an integer from 1), got 'x'.",
    ),
    "group zero": (
        mio.load_group,
        b"0\n",
        "<bytes>:1:1: expected the size of a query (an integer from 1), got '0'.",
    ),
    "group real": (
        mio.load_group,
        b"2.0",
        "<bytes>:1:1: expected the size of a query (an integer from 1), got '2.0'.",
    ),
    "group empty": (mio.load_group, b"\n\n", "<bytes>: expected at least one line, got none."),
    "group NUL": (
        mio.load_group,
        b"1\n\0",
        "<bytes>:2:1: expected text, got a NUL byte; is this a binary file?",
    ),
    "weight negative": (
        mio.load_weight,
        b"1\n-1\n",
        "<bytes>:2:1: expected a weight (a finite number from 0), got '-1'.",
    ),
    "weight nan": (
        mio.load_weight,
        b"nan",
        "<bytes>:1:1: expected a weight (a finite number from 0), got 'nan'.",
    ),
    "weight underscore": (
        mio.load_weight,
        b"1_0",
        "<bytes>:1:1: expected a weight (a finite number from 0), got '1_0'.",
    ),
    "pair of one": (
        mio.load_pairs,
        b"1\n",
        "<bytes>:1:1: expected 'winner,loser[,weight[,margin]]', got 1 field.",
    ),
    "pair of five": (
        mio.load_pairs,
        b"1,2,3,4,5\n",
        "<bytes>:1:1: expected 'winner,loser[,weight[,margin]]', got 5 fields.",
    ),
    "pair width": (
        mio.load_pairs,
        b"0,1\n0,2,1\n",
        "<bytes>:2:1: expected 2 fields, as in the first line, got 3.",
    ),
    "pair negative": (mio.load_pairs, b"-1,2", "<bytes>:1:1: expected a row number from 0, got '-1'."),
    "pair huge": (
        mio.load_pairs,
        b"9" * 30 + b",2",
        f"<bytes>:1:1: expected a row number from 0, got '{'9' * 30}'.",
    ),
    "pair twice": (mio.load_pairs, b"4,4", "<bytes>:1:3: expected two different rows, got '4' twice."),
    "pair weight": (
        mio.load_pairs,
        b"0,1,x",
        "<bytes>:1:5: expected a weight (a finite number from 0), got 'x'.",
    ),
    "pair margin": (
        mio.load_pairs,
        b"0,1,1,inf",
        "<bytes>:1:7: expected a margin (a finite number from 0), got 'inf'.",
    ),
    "pair header only": (
        mio.load_pairs,
        b"winner,loser\n",
        "<bytes>:1:1: expected pairs after the header, got none.",
    ),
    "qrels fields": (
        mio.load_qrels,
        b"1 0 d\n",
        "<bytes>:1:1: expected 'qid iteration docid label', got 3 fields.",
    ),
    "qrels label": (
        mio.load_qrels,
        b"1 0 d x\n",
        "<bytes>:1:7: expected a label (a finite number), got 'x'.",
    ),
    "qrels twice": (
        mio.load_qrels,
        b"1 0 d 1\n2 0 d 1\n1 0 d 2\n",
        "<bytes>:3:5: expected each document once in a query, got 'd' of query '1' again (first in line 1).",
    ),
    "run score": (
        mio.load_run,
        b"1 Q0 d 1 nan t\n",
        "<bytes>:1:10: expected a score (a finite number), got 'nan'.",
    ),
    "run fields": (
        mio.load_run,
        b"1 Q0 d 1 2\n",
        "<bytes>:1:1: expected 'qid Q0 docid rank score tag', got 5 fields.",
    ),
    "table without label": (
        mio.load_table,
        b"a,qid\n1,2\n",
        "<bytes>: expected a column 'label' for the label, got a, qid. Name it with label=COLUMN.",
    ),
    "table without qid": (
        mio.load_table,
        b"a,label\n1,2\n",
        "<bytes>: expected a column 'qid' for the qid, got a, label. "
        "Name it with qid=COLUMN. If there is none, pass qid=None.",
    ),
    "group of many digits": (
        mio.load_group,
        b"  " + b"9" * 5000,
        f"<bytes>:1:3: expected the size of a query (an integer from 1), got '{'9' * 40}...'.",
    ),
    "pair with blanks": (
        mio.load_pairs,
        b"winner, loser\r\n 0,  x\r\n",
        "<bytes>:2:6: expected a row number from 0, got 'x'.",
    ),
    "pair behind letters of two bytes": (
        mio.load_pairs,
        "0,1,1\nüü,1,1\n".encode(),
        "<bytes>:2:1: expected a row number from 0, got 'üü'.",
    ),
    "NUL behind letters of two bytes": (
        mio.load_weight,
        "1\nüü\0".encode(),
        "<bytes>:2:3: expected text, got a NUL byte; is this a binary file?",
    ),
    "UTF-16 pairs": (
        mio.load_pairs,
        "0,1".encode("utf-16"),
        "<bytes>:1:1: expected UTF-8 text, got UTF-16; save the file as UTF-8.",
    ),
    "qrels with tabs": (
        mio.load_qrels,
        b"1\t0\td\t1\n1\t0\te\tinf\n",
        "<bytes>:2:7: expected a label (a finite number), got 'inf'.",
    ),
    "run twice": (
        mio.load_run,
        b"1 Q0 d 1 2 t\n\n1 Q0 d 2 1 t\n",
        "<bytes>:3:6: expected each document once in a query, got 'd' of query '1' again (first in line 1).",
    ),
    "csv word": (
        mio.load_table,
        b"label,qid,a\n1,1,0.5\n\n0,1,red\n",
        "<bytes>:4, column 'a': expected a number, got 'red'.",
    ),
    "csv word in the label": (
        mio.load_table,
        b"label,qid,a\n1,1,0.5\ngood,1,1\n",
        "<bytes>:3, column 'label': expected a number, got 'good'.",
    ),
    "csv word in the weight": (
        mio.load_table,
        b"label,qid,weight,a\n1,1,heavy,0.5\n",
        "<bytes>:2, column 'weight': expected a number, got 'heavy'.",
    ),
    "csv empty cell": (
        mio.load_table,
        b"label,qid,a,b\n1,1,0.5,2\n0,1,,3\n",
        "<bytes>:3, column 'a': expected a finite number, got an empty cell. "
        "To read it as missing, pass missing=0.0 or missing=float('nan').",
    ),
    "csv nan": (
        mio.load_table,
        b"label,qid,a\n1,1,nan\n",
        "<bytes>:2, column 'a': expected a finite number, got 'nan'. "
        "To read it as missing, pass missing=0.0 or missing=float('nan').",
    ),
    "csv infinity": (
        mio.load_table,
        b"label,qid,a\n1,1,1\n1,1,inf\n",
        "<bytes>:3, column 'a': expected a finite number, got 'inf'.",
    ),
    "csv without an id": (
        mio.load_table,
        b"label,qid,a\n1,7,1\n1,,2\n",
        "<bytes>:3, column 'qid': expected a query id, got an empty cell.",
    ),
    "csv same name twice": (
        mio.load_table,
        b"label,qid,a,a\n1,7,1,2\n",
        "<bytes>: expected columns of different names, got 'a' twice.",
    ),
    "csv without features": (
        mio.load_table,
        b"label,qid,docid\n1,7,x\n",
        "<bytes>: expected columns of features, got label, qid, docid.",
    ),
    "csv with a row too short": (
        mio.load_table,
        b"label,qid,a\n1,7,1\n\n1,7\n",
        "<bytes>:4: expected 3 cells, as in the header, got 2.",
    ),
    "csv with a row too long": (
        mio.load_table,
        b"label,qid,a\n1,7,1,2\n",
        "<bytes>:2: expected 3 cells, as in the header, got 4.",
    ),
    "csv empty": (mio.load_table, b"", "<bytes>: expected a header and rows, got nothing."),
    "csv blank": (mio.load_table, b"\n\n", "<bytes>: expected a header and rows, got nothing."),
    "csv header only": (
        mio.load_table,
        b"label,qid,a\n",
        "<bytes>: expected at least one row, got none.",
    ),
    "csv of other bytes": (
        mio.load_table,
        "label,qid,a\n1,1,1\n1,\u00fc,2\n".encode("latin-1"),
        "<bytes>:3:3: expected UTF-8 text, got the byte 0xfc.",
    ),
    "csv of UTF-16": (
        mio.load_table,
        "label,qid,a\n1,1,1\n".encode("utf-16"),
        "<bytes>:1:1: expected UTF-8 text, got UTF-16; save the file as UTF-8.",
    ),
    "parquet word": (
        mio.load_table,
        parquet(label=[1.0, 0.0], qid=[1, 1], a=["red", "blue"]),
        "<bytes>: expected numbers in column 'a', got string. Encode it, or leave it out.",
    ),
    "parquet null": (
        mio.load_table,
        parquet(label=[1.0, 0.0], qid=[1, 1], a=[0.5, None]),
        "<bytes>, row 1 (counted from 0), column 'a': expected a finite number, got an empty cell. "
        "To read it as missing, pass missing=0.0 or missing=float('nan').",
    ),
    "parquet infinity": (
        mio.load_table,
        parquet(label=[1.0, 0.0], qid=[1, 1], a=[float("-inf"), 1.0]),
        "<bytes>, row 0 (counted from 0), column 'a': expected a finite number, got -inf.",
    ),
    "parquet null in the label": (
        mio.load_table,
        parquet(label=[None, 0.0], qid=[1, 1], a=[1.0, 1.0]),
        "<bytes>, row 0 (counted from 0), column 'label': expected a finite number, got an empty cell.",
    ),
    "parquet without an id": (
        mio.load_table,
        parquet(label=[1.0, 0.0], qid=["x", None], a=[1.0, 1.0]),
        "<bytes>, row 1 (counted from 0), column 'qid': expected a query id, got an empty cell.",
    ),
    "npz word": (mio.load_npz, b"word", None),
    "npz empty": (mio.load_npz, b"", None),
}
