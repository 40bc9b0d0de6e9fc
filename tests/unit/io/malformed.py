"""Bad and odd LETOR texts, each with the sentence that is expected, or the result.

An entry is (text, options of ``load_letor``, expected): a string is the whole error, a dict what the data
must hold (``X``, ``y``, ``qid``, ``comments``; those left out are not looked at).
"""

import numpy as np

FEATURE = "expected a feature '<index>:<value>'"
ZERO = "If the indices of this file start at 0, pass zero_based=True."
RAISE = "If the file is right, raise max_feature."
MISSING = "To read it as missing, pass missing=0.0 or missing=float('nan')."
NONFINITE = "To read it, pass allow_nonfinite=True."
NUL = "expected text, got a NUL byte; is this a binary file?"
NAN, INF = float("nan"), float("inf")

REFUSED = {
    "empty": (b"", {}, "<bytes>: expected at least one row, got none."),
    "only blank lines": (b"\n \n\t\n", {}, "<bytes>: expected at least one row, got none."),
    "only comments": (b"# a\n#b\n", {}, "<bytes>: expected at least one row, got none."),
    "only a BOM": (b"\xef\xbb\xbf", {}, "<bytes>: expected at least one row, got none."),
    "no features": (b"1 qid:1\n", {}, "<bytes>: expected features '<index>:<value>', got none in any row."),
    "label word": (b"good 1:1", {}, "<bytes>:1:1: expected a label (a real number), got 'good'."),
    "label missing": (b"1:0.5 2:1", {}, "<bytes>:1:1: expected a label (a real number), got '1:0.5'."),
    "label is qid": (b"qid:3 1:1", {}, "<bytes>:1:1: expected a label (a real number), got 'qid:3'."),
    "label with junk": (b"1x 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '1x'."),
    "label with comma": (b"1,5 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '1,5'."),
    "label hex": (b"0x1 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '0x1'."),
    "label two signs": (b"+-1 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '+-1'."),
    "label sign only": (b"- 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '-'."),
    "label point only": (b". 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '.'."),
    "label multi-label": (b"1,2 1:1", {}, "<bytes>:1:1: expected a label (a real number), got '1,2'."),
    "label too large": (
        b"1e999 1:1",
        {},
        "<bytes>:1:1: expected a label that float64 can hold, got '1e999'.",
    ),
    "label nan": (b"nan 1:1", {}, "<bytes>:1:1: expected a finite label, got 'nan'."),
    "label inf asked for": (
        b"-inf 1:1",
        {"allow_nonfinite": True},
        "<bytes>:1:1: expected a finite label, got '-inf'.",
    ),
    "second row": (b"1 1:1\nx 1:1\n", {}, "<bytes>:2:1: expected a label (a real number), got 'x'."),
    "indented": (b"1 1:1\n   x 1:1\n", {}, "<bytes>:2:4: expected a label (a real number), got 'x'."),
    "lines that are skipped count": (
        b"\n# c\n\r\n1 1:1\nx 1:1\n",
        {},
        "<bytes>:5:1: expected a label (a real number), got 'x'.",
    ),
    "column behind a BOM": (
        b"\xef\xbb\xbf1 1:a",
        {},
        "<bytes>:1:3: expected a number after '1:', got 'a'.",
    ),
    "columns are characters": (
        "1 qid:\u00fc\u00e4 1:a".encode(),
        {},
        "<bytes>:1:10: expected a number after '1:', got 'a'.",
    ),
    "qid empty": (b"1 qid: 1:1", {}, "<bytes>:1:3: expected an id after 'qid:', got 'qid:'."),
    "qid twice": (b"1 qid:1 qid:2 1:1", {}, f"<bytes>:1:9: {FEATURE}, got a second id 'qid:2'."),
    "qid after features": (
        b"1 1:1 qid:2",
        {},
        "<bytes>:1:7: expected 'qid:<id>' directly after the label, got 'qid:2' behind a feature.",
    ),
    "qid missing later": (
        b"1 qid:1 1:1\n0 1:2\n",
        {},
        "<bytes>:2:3: expected 'qid:<id>' after the label, as in the rows before, got '1:2'.",
    ),
    "qid missing in a bare row": (
        b"1 qid:1 1:1\n0\n",
        {},
        "<bytes>:2:2: expected 'qid:<id>' after the label, as in the rows before, got the end of the row.",
    ),
    "qid only later": (
        b"1 1:1\n0 1:1\n0 qid:1 1:2\n",
        {},
        f"<bytes>:3:3: {FEATURE}, as the rows before have no qid, got 'qid:1'.",
    ),
    "first of two problems": (
        b"1 qid:1 1:1\n0 1:2\n0 qid:1 1:x\n",
        {},
        "<bytes>:2:3: expected 'qid:<id>' after the label, as in the rows before, got '1:2'.",
    ),
    "capital QID": (b"1 QID:1 1:1", {}, f"<bytes>:1:3: {FEATURE} with an integer index, got 'QID:1'."),
    "no colon": (b"1 qid:1 3", {}, f"<bytes>:1:9: {FEATURE}, got '3'."),
    "word": (b"1 1:1 junk", {}, f"<bytes>:1:7: {FEATURE}, got 'junk'."),
    "trailing number": (b"1 1:1 7\n", {}, f"<bytes>:1:7: {FEATURE}, got '7'."),
    "blank before colon": (b"1 1 :1", {}, f"<bytes>:1:3: {FEATURE}, got '1'."),
    "blank after colon": (b"1 1: 5", {}, "<bytes>:1:3: expected a number after '1:', got nothing."),
    "value missing": (b"1 1:2 2:\n", {}, "<bytes>:1:7: expected a number after '2:', got nothing."),
    "value cut by a comment": (b"1 2:#x", {}, "<bytes>:1:3: expected a number after '2:', got nothing."),
    "index missing": (b"1 :5", {}, f"<bytes>:1:3: {FEATURE} with an integer index, got ':5'."),
    "index word": (b"1 a:5", {}, f"<bytes>:1:3: {FEATURE} with an integer index, got 'a:5'."),
    "index real": (b"1 1.5:5", {}, f"<bytes>:1:3: {FEATURE} with an integer index, got '1.5:5'."),
    "index plus": (b"1 +1:5", {}, f"<bytes>:1:3: {FEATURE} with an integer index, got '+1:5'."),
    "index negative": (b"1 -1:5", {}, f"<bytes>:1:3: {FEATURE} with an index from 1, got '-1:5'."),
    "index negative zero-based": (
        b"1 -1:5",
        {"zero_based": True},
        f"<bytes>:1:3: {FEATURE} with an index from 0, got '-1:5'.",
    ),
    "index zero": (b"1 0:5", {}, f"<bytes>:1:3: {FEATURE} with an index from 1, got '0:5'. {ZERO}"),
    "index above the cap": (
        b"1 10000001:5",
        {},
        f"<bytes>:1:3: expected feature indices up to max_feature=10000000, got 10000001. {RAISE}",
    ),
    "index beyond 2**32": (
        b"1 4294967297:5",
        {},
        f"<bytes>:1:3: expected feature indices up to max_feature=10000000, got 4294967297. {RAISE}",
    ),
    "index beyond 2**64": (
        b"1 18446744073709551617:5",
        {"max_feature": 2**31 - 1},
        "<bytes>:1:3: expected feature indices up to max_feature=2147483647, got 18446744073709551617. "
        + RAISE,
    ),
    "index above n_features": (
        b"1 1:1 4:1",
        {"n_features": 3},
        "<bytes>:1:7: expected feature indices up to 3, as n_features=3, got 4. "
        "Raise n_features, or leave it out.",
    ),
    "zero-based index above n_features": (
        b"1 0:1 3:1",
        {"n_features": 3, "zero_based": True},
        "<bytes>:1:7: expected feature indices up to 2, as n_features=3, got 3. "
        "Raise n_features, or leave it out.",
    ),
    "duplicate": (
        b"1 1:1 2:2 2:3",
        {},
        "<bytes>:1:11: expected each feature once in a row, got 2 a second time ('2:3').",
    ),
    "duplicate far apart": (
        b"1 5:1 1:2 3:0 5:1",
        {},
        "<bytes>:1:15: expected each feature once in a row, got 5 a second time ('5:1').",
    ),
    "duplicate zeros": (
        b"1 1:0 1:0",
        {},
        "<bytes>:1:7: expected each feature once in a row, got 1 a second time ('1:0').",
    ),
    "duplicate with another spelling": (
        b"1 1:1 01:2",
        {},
        "<bytes>:1:7: expected each feature once in a row, got 01 a second time ('01:2').",
    ),
    "value word": (b"1 1:abc", {}, "<bytes>:1:3: expected a number after '1:', got 'abc'."),
    "value junk": (b"1 1:0.5abc", {}, "<bytes>:1:3: expected a number after '1:', got '0.5abc'."),
    "value comma": (b"1 1:0,5", {}, "<bytes>:1:3: expected a number after '1:', got '0,5'."),
    "value two points": (b"1 1:1.2.3", {}, "<bytes>:1:3: expected a number after '1:', got '1.2.3'."),
    "value hex": (b"1 1:0x1p3", {}, "<bytes>:1:3: expected a number after '1:', got '0x1p3'."),
    "value underscore": (b"1 1:1_000", {}, "<bytes>:1:3: expected a number after '1:', got '1_000'."),
    "value exponent cut": (b"1 1:1e", {}, "<bytes>:1:3: expected a number after '1:', got '1e'."),
    "value with a second colon": (b"1 1:2:3", {}, "<bytes>:1:3: expected a number after '1:', got '2:3'."),
    "value foreign digits": (
        "1 1:\u0661".encode(),
        {},
        "<bytes>:1:3: expected a number after '1:', got '\u0661'.",
    ),
    "value too large": (
        b"1 1:1e400",
        {},
        "<bytes>:1:3: expected a number within range after '1:', got '1e400'.",
    ),
    "value too large for float32": (
        b"1 1:1e39",
        {"dtype": "float32"},
        "<bytes>:1:3: expected a number within range after '1:', got '1e39'.",
    ),
    "value nan": (
        b"1 1:nan",
        {},
        f"<bytes>:1:3: expected a finite number after '1:', got 'nan'. {NONFINITE}",
    ),
    "value inf": (
        b"1 1:-Inf",
        {},
        f"<bytes>:1:3: expected a finite number after '1:', got '-Inf'. {NONFINITE}",
    ),
    "value NULL": (b"1 1:NULL", {}, f"<bytes>:1:3: expected a number after '1:', got 'NULL'. {MISSING}"),
    "value null in small letters": (
        b"1 1:null",
        {"missing": 0.0},
        "<bytes>:1:3: expected a number after '1:', got 'null'.",
    ),
    "value NULLs": (
        b"1 1:NULLs",
        {"missing": 0.0},
        "<bytes>:1:3: expected a number after '1:', got 'NULLs'.",
    ),
    "NUL in a value": (b"1 1:1\0002 2:1", {}, f"<bytes>:1:6: {NUL}"),
    "NUL in a label": (b"\0001 1:1", {}, f"<bytes>:1:1: {NUL}"),
    "NUL in a qid": (b"1 qid:a\0b 1:1", {}, f"<bytes>:1:8: {NUL}"),
    "NUL in a comment": (b"1 1:1 # a\0b", {}, f"<bytes>:1:10: {NUL}"),
    "NUL in a line of comment": (b"#\0\n1 1:1", {}, f"<bytes>:1:2: {NUL}"),
    "UTF-16": (
        "1 1:1".encode("utf-16"),
        {},
        "<bytes>:1:1: expected UTF-8 text, got UTF-16; save the file as UTF-8.",
    ),
    "lone carriage return": (b"1 1:1\r0 1:2", {}, "<bytes>:1:3: expected a number after '1:', got '1\\r0'."),
    "form feed": (b"1 1:1\x0c", {}, "<bytes>:1:3: expected a number after '1:', got '1\\x0c'."),
    "long junk": (b"1 " + b"x" * 5000, {}, f"<bytes>:1:3: {FEATURE}, got '{'x' * 40}...'."),
    "bytes that are no UTF-8": (b"1 \xff\xfe", {}, f"<bytes>:1:3: {FEATURE}, got '\\\\xff\\\\xfe'."),
    "too many bytes": (
        b"1 1:1\n",
        {"max_bytes": 5},
        "<bytes>: expected at most max_bytes=5 bytes, got more.",
    ),
}

READ = {
    "no final newline": (b"1 1:2", {}, {"X": [[2]], "y": [1], "qid": None, "comments": None}),
    "CRLF": (b"1 qid:1 1:2\r\n0 qid:1 1:3 #c\r\n", {}, {"X": [[2], [3]], "comments": ["", "c"]}),
    "CRLF without the last": (b"1 1:2\r\n0 1:3\r", {}, {"X": [[2], [3]]}),
    "BOM": (b"\xef\xbb\xbf1 1:2\n", {}, {"X": [[2]], "y": [1]}),
    "tabs": (b"\t1\tqid:3\t1:2\t \t2:4\t\n", {}, {"X": [[2, 4]], "qid": [3]}),
    "blank lines and comments between": (b"\n#a\n1 1:2\n  \n # b\n0 1:3\n\n", {}, {"X": [[2], [3]]}),
    "unsorted": (b"1 3:3 1:1 2:2\n", {}, {"X": [[1, 2, 3]]}),
    "label real, signed, exponent": (b"-1.5e1 1:1\n+2 1:1\n.5 1:1\n3. 1:1", {}, {"y": [-15, 2, 0.5, 3]}),
    "label negative zero": (b"-0 1:1", {}, {"y": [-0.0]}),
    "plus before a value": (b"1 1:+2.5", {}, {"X": [[2.5]]}),
    "value too small": (b"1 1:1e-400 2:-1e-99999 3:1", {}, {"X": [[0.0, -0.0, 1.0]]}),
    "smallest value": (b"1 1:5e-324", {}, {"X": [[5e-324]]}),
    "long digits": (b"1 1:0.10000000000000000555111512312578270211815834", {}, {"X": [[0.1]]}),
    "many zeros": (b"1 1:" + b"0" * 400 + b"7." + b"0" * 400, {}, {"X": [[7]]}),
    "large integer": (b"1 1:9007199254740993", {}, {"X": [[9007199254740992]]}),
    "leading zeros of an index": (b"1 007:1", {"n_features": 7}, {"X": [[0, 0, 0, 0, 0, 0, 1]]}),
    "zero-based": (b"1 0:5 2:6", {"zero_based": True}, {"X": [[5, 0, 6]]}),
    "n_features pads": (b"1 1:5", {"n_features": 3}, {"X": [[5, 0, 0]]}),
    "explicit zero keeps the width": (b"1 1:5 4:0", {}, {"X": [[5, 0, 0, 0]]}),
    "row without features": (b"1 qid:1 1:1\n0 qid:1\n0 qid:1 #c", {}, {"X": [[1], [0], [0]]}),
    "qid strings": (b"1 qid:q-1 1:1\n0 qid:2 1:1", {}, {"qid": ["q-1", "2"]}),
    "qid integers": (b"1 qid:-7 1:1\n0 qid:0 1:1", {}, {"qid": [-7, 0]}),
    "qid with leading zeros": (b"1 qid:01 1:1\n0 qid:1 1:1", {}, {"qid": ["01", "1"]}),
    "qid minus zero": (b"1 qid:-0 1:1\n0 qid:0 1:1", {}, {"qid": ["-0", "0"]}),
    "qid beyond int64": (b"1 qid:9223372036854775808 1:1", {}, {"qid": ["9223372036854775808"]}),
    "qid largest int64": (b"1 qid:9223372036854775807 1:1", {}, {"qid": [2**63 - 1]}),
    "qid with colons": (b"1 qid:a:b:c 1:1", {}, {"qid": ["a:b:c"]}),
    "qid ended by a comment": (b"1 qid:a#c\n0 qid:a 1:1", {}, {"qid": ["a", "a"], "comments": ["c", ""]}),
    "qid UTF-8": ("1 qid:\u00fc 1:1".encode(), {}, {"qid": ["\u00fc"]}),
    "qid bytes": (b"1 qid:\xff 1:1", {}, {"qid": ["\udcff"]}),
    "queries that are not together": (b"1 qid:2 1:1\n0 qid:1 1:1\n0 qid:2 1:1", {}, {"qid": [2, 1, 2]}),
    "comment as it stands": (b"1 1:1 #  docid = A # b \t\n", {}, {"comments": ["  docid = A # b \t"]}),
    "comment directly": (b"1 1:1#c\n", {}, {"X": [[1]], "comments": ["c"]}),
    "empty comments are none": (b"1 1:1 #\n0 1:1", {}, {"comments": None}),
    "NULL as zero": (b"1 1:NULL 2:3", {"missing": 0.0}, {"X": [[0, 3]]}),
    "NULL as NaN": (b"1 1:NULL 2:3", {"missing": NAN}, {"X": [[NAN, 3]]}),
    "nan and inf on request": (
        b"1 1:nan 2:inf 3:-INFINITY",
        {"allow_nonfinite": True},
        {"X": [[NAN, INF, -INF]]},
    ),
    "float32 is rounded once": (b"1 1:0.1", {"dtype": np.float32}, {"X": [[np.float32(0.1)]]}),
}
