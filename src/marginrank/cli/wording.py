"""Sentences of the library in the words of the command line: options in place of arguments."""

from __future__ import annotations

import re

# In order; what stands earlier is more special.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"^random_state must be None.*? or an integer", "--seed must be an integer"),
    (r"^n_resamples must", "--resamples must"),
    (r"^n_alphas must", "--points must"),
    (r"pass missing=0\.0 or missing=float\('nan'\)", "give --missing 0"),
    (r"[Pp]ass zero_based=True", "give --zero-based"),
    (r" To read it, pass allow_nonfinite=True\.", ""),
    (r"up to max_feature=(\d+)", r"up to --max-feature \1"),
    (r"To read from a pipe, pass a file object", "To read from a pipe, give - for standard input"),
    (r"raise max_feature", "raise --max-feature"),
    (r"raise max_expansion", "raise --max-expansion"),
    (r"pass format= one of (.*)\.$", r"say the format, one of \1."),
    (r"format='lightgbm'", "--format lightgbm"),
    (r"Pass (label|qid|weight|docid|comment)= the name of the column", r"Name it with --\1-column"),
    (r"(--qid-column), or None", r"\1, or give --no-qid"),
    (r"(--(?:weight|docid|comment)-column), or None", r"\1"),
    (r"Raise max_iter or tol, use a larger alpha, try another solver, or scale the features "
     r"\(scale='standard'\)",
     "Raise --max-iter or --tol, use a larger --alpha, try another --solver, or scale the features "
     "(--scale standard)"),
    (r"Raise max_iter or tol, use a larger alpha, or scale the features \(scale='standard'\)",
     "Raise --max-iter or --tol, use a larger --alpha, or scale the features (--scale standard)"),
    (r"Use a larger eps or alpha_min, or scale the features \(scale='standard'\)",
     "Use a larger --eps or --alpha-min, or scale the features (--scale standard)"),
    (r"Use a larger eps, or scale the features \(scale='standard'\)",
     "Use a larger --eps, or scale the features (--scale standard)"),
    (r"(within|to) eps=", r"\1 --eps "),
    (r"so there is no natural alpha_max; give one", "so there is no natural start; give --alpha-max"),
    (r"alpha_min must be at most alpha_max=", "--alpha-min must be at most --alpha-max "),
    (r"at alpha_max=", "at alpha "),
    (r"Compute it with another alpha_max or alpha_min", "Give another --alpha-max or --alpha-min"),
    (r"Compute it with a smaller alpha_min, or without max_events", "Give a smaller --alpha-min"),
    (r"gains more than eps=(\S+) over w = 0 for target=(.*?)\. Use a smaller alpha_min, or another target",
     r"gains more than --eps \1 over w = 0 for the target \2. Use a smaller --alpha-min or another --target"),
    (r"Use a larger alpha_min, or a kernel", "Use a larger --alpha-min, or a kernel"),
    (r", and gap_at\(alpha\) tells it anywhere", ""),
    (r"Use graph='sampled' if", "Use --graph sampled if"),
    (r"graph='(\w+)' chooses among", r"--graph \1 chooses among"),
    (r"Use graph='all'", "Use --graph all"),
    (r"or RankSVM, which takes any number of rows \(for a kernel, on the features of .*?\)",
     "or leave out --kernel: a linear path takes any number of rows"),
    (r"Use a smaller alpha, or alpha='auto'", "Use a smaller --alpha, or --alpha auto"),
    (r"\(truncate=False\)", "(no --truncate)"),
    (r"Use feature_map='po'", "Use --feature-map po"),
    (r"for target=(.*?) at alpha=", r"for the target \1 at alpha "),
    (r"above tol=", "above --tol "),
    (r"give a smaller cv, or an eval_set", "give a smaller --cv, or --validate"),
    (r"rule='one_se' needs", "--rule one_se needs"),
    (r"use rule='best'", "use --rule best"),
    (r"Pass labelled rows as eval_set to select by it", "Give labelled rows with --validate to select by it"),
    (r"^eval_set: ", "--validate: "),
    (r"but eval_set has none; pass eval_qid, one id for each row", "but the validation data have none"),
    (r"eval_set must have labels y; these data hold pairs only", "The validation data must have labels"),
    (r"Use solver='bundle', or loss='squared_hinge'", "Use --solver bundle, or --loss squared_hinge"),
    (r"that write_dataset made", "that marginrank convert made"),
    (r"KernelRankSVM does not train over data on disk; .*",
     "--kernel does not train over data on disk; name a file that fits into memory, or leave out --kernel."),
    (r"Look at their logs and memory;",
     "Look at their logs and memory (mapped data count there, unless dask worker gets --memory-limit 0);"),
    (r"checkpoint= lets a training go on", "--checkpoint lets a training go on"),
    (r"resume='(.*?)' goes on from here", r"--resume \1 goes on from here"),
    (r"([Gg])o on from it with resume=", r"\1o on from it with --resume"),
    (r"is kept for resume=True", "is kept for --resume"),
    (r"(Train|Train as then, or) without resume", r"\1 without --resume"),
    (r"within timeout=([\d.e+]+) seconds", r"within \1 seconds (--timeout)"),
    (r"Let marginrank\.io\.convert_to_dataset regroup them",
     "Put them into one file, which marginrank convert regroups as an .mrd"),
    (r"let marginrank\.io\.convert_to_dataset regroup it", "let marginrank convert regroup it as an .mrd"),
    (r"pass overwrite=True to replace it", "give --overwrite to replace it"),
    (r"start anew, without resume", "start anew with --overwrite"),
    (r"Start anew, without resume", "Start anew with --overwrite"),
    (r": normalise blocks before they are written, by RankingData\.normalized_by_query\(\)",
     "; leave out --normalize, or convert files that are normalised already"),
    (r"pass ignore_unknown=True", "give --ignore-unknown"),
    (r"write data\.subset\(data\.order\)", "sort the rows by query first"),
    (r"so predict needs qid\. Pass qid=\.\.\., or the same id for every row if they are one query",
     "so the data need query ids; give every row the same id if they are one query"),
    (r"\(first at row (\d+), column (\d+)\)", r"(first at row \1, column \2, counted from 0)"),
    (r"Is y constant, or is there one row\?", "Are all labels equal, or is there one row?"),
    (r"Is qid unique per row, or y constant\?", "Is every row a query of its own, or are all labels equal?"),
    (r"\bn_components=", "--components "),
    (r"\bn_jobs\b", "--jobs"),
    (r"\bsample_weight\b", "the weight"),
    (r"\bquery_weight\b", "the weight of queries"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _WORDS)


def for_the_command_line(sentence: str) -> str:
    """Return a sentence of the library with the names of options in place of those of arguments.

    Examples
    --------
    >>> for_the_command_line("If the indices of this file start at 0, pass zero_based=True.")
    'If the indices of this file start at 0, give --zero-based.'
    """
    for pattern, words in _PATTERNS:
        sentence = pattern.sub(words, sentence)
    return sentence
