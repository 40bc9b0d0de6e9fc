"""Bad files of the other formats: who reads them, the content, and the sentence (None: any)."""

from marginrank import io as mio

BAD = {
    "group word": (
        mio.load_group,
        b"3\nx\n",
        "<bytes>:2: expected the size of a query (an integer from 1), got 'x'.",
    ),
    "group zero": (
        mio.load_group,
        b"0\n",
        "<bytes>:1: expected the size of a query (an integer from 1), got '0'.",
    ),
    "group real": (
        mio.load_group,
        b"2.0",
        "<bytes>:1: expected the size of a query (an integer from 1), got '2.0'.",
    ),
    "group empty": (mio.load_group, b"\n\n", "<bytes>: expected at least one line, got none."),
    "group NUL": (
        mio.load_group,
        b"1\n\0",
        "<bytes>:2: expected text, got a NUL byte; is this a binary file?",
    ),
    "weight negative": (
        mio.load_weight,
        b"1\n-1\n",
        "<bytes>:2: expected a weight (a finite number from 0), got '-1'.",
    ),
    "weight nan": (
        mio.load_weight,
        b"nan",
        "<bytes>:1: expected a weight (a finite number from 0), got 'nan'.",
    ),
    "weight underscore": (
        mio.load_weight,
        b"1_0",
        "<bytes>:1: expected a weight (a finite number from 0), got '1_0'.",
    ),
    "pair of one": (
        mio.load_pairs,
        b"1\n",
        "<bytes>:1: expected 'winner,loser[,weight[,margin]]', got 1 fields.",
    ),
    "pair of five": (
        mio.load_pairs,
        b"1,2,3,4,5\n",
        "<bytes>:1: expected 'winner,loser[,weight[,margin]]', got 5 fields.",
    ),
    "pair width": (
        mio.load_pairs,
        b"0,1\n0,2,1\n",
        "<bytes>:2: expected 2 fields, as in the first line, got 3.",
    ),
    "pair negative": (mio.load_pairs, b"-1,2", "<bytes>:1: expected a row number from 0, got '-1'."),
    "pair huge": (
        mio.load_pairs,
        b"9" * 30 + b",2",
        f"<bytes>:1: expected a row number from 0, got '{'9' * 30}'.",
    ),
    "pair twice": (mio.load_pairs, b"4,4", "<bytes>:1: expected two different rows, got '4' twice."),
    "pair weight": (
        mio.load_pairs,
        b"0,1,x",
        "<bytes>:1: expected a weight (a finite number from 0), got 'x'.",
    ),
    "pair margin": (
        mio.load_pairs,
        b"0,1,1,inf",
        "<bytes>:1: expected a margin (a finite number from 0), got 'inf'.",
    ),
    "pair header only": (
        mio.load_pairs,
        b"winner,loser\n",
        "<bytes>:1: expected pairs after the header, got none.",
    ),
    "qrels fields": (
        mio.load_qrels,
        b"1 0 d\n",
        "<bytes>:1: expected 'qid iteration docid label', got 3 fields.",
    ),
    "qrels label": (mio.load_qrels, b"1 0 d x\n", "<bytes>:1: expected a label (a finite number), got 'x'."),
    "qrels twice": (
        mio.load_qrels,
        b"1 0 d 1\n2 0 d 1\n1 0 d 2\n",
        "<bytes>:3: expected each document once in a query, got 'd' of query '1' again (first at <bytes>:1).",
    ),
    "run score": (
        mio.load_run,
        b"1 Q0 d 1 nan t\n",
        "<bytes>:1: expected a score (a finite number), got 'nan'.",
    ),
    "run fields": (
        mio.load_run,
        b"1 Q0 d 1 2\n",
        "<bytes>:1: expected 'qid Q0 docid rank score tag', got 5 fields.",
    ),
    "table without label": (
        mio.load_table,
        b"a,qid\n1,2\n",
        "<bytes>: expected a column 'label' for the label, got a, qid. Pass label= the name of the column.",
    ),
    "table without qid": (
        mio.load_table,
        b"a,label\n1,2\n",
        "<bytes>: expected a column 'qid' for the qid, got a, label. "
        "Pass qid= the name of the column, or None.",
    ),
    "npz word": (mio.load_npz, b"word", None),
    "npz empty": (mio.load_npz, b"", None),
}
