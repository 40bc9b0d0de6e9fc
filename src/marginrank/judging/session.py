"""A session of judging: questions that are open, answers that are saved, and a model that follows them."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.judging.answers import ANSWERS, AnswerFile, Judgement, rater_name
from marginrank.judging.items import Items
from marginrank.judging.learning import Learned, learn
from marginrank.judging.suggestion import RANDOM_SHARE, next_pair
from marginrank.markup import visible
from marginrank.types import Vector

#: Answers before the model is asked what it is unsure of.
FIRST_AT_RANDOM = 10
_MOST_OPEN = 1000
_TOP = 10


@dataclass(frozen=True)
class Question:
    """Two items, in the order they are shown, and how they were chosen."""

    name: str
    a: int
    b: int
    kind: str
    rater: str


class Session:
    """What all pages of a judging share.

    Parameters
    ----------
    items : Items
        What is judged.
    answers : AnswerFile
        What was answered.
    random_state : int or None
        Seed of the questions.
    """

    def __init__(self, items: Items, answers: AnswerFile, *, random_state: int | None = None) -> None:
        self.items = items
        self.answers = answers
        self.learned: Learned | None = None
        self._rng = np.random.default_rng(random_state)
        self._open: OrderedDict[str, Question] = OrderedDict()
        self._news = Condition()
        self._wanted = len(answers.judgements) > 0
        self._ended = False
        self._worker = Thread(target=self._follow, name="refit", daemon=True)
        self._worker.start()

    def ask(self, rater: str) -> Question | None:
        """Return a question for a rater that they have not answered; None where there is none left."""
        rater = rater_name(rater)
        with self._news:
            known = {
                (min(one.first, one.second), max(one.first, one.second))
                for one in self.answers.judgements
                if one.rater == rater
            }
            enough = len(self.answers.judgements) >= FIRST_AT_RANDOM
            suggested = self.learned is not None and enough and self._rng.random() >= RANDOM_SHARE
            scores: Vector | None = self.learned.scores if suggested and self.learned is not None else None
            pair = next_pair(self._rng, len(self.items.ids), scores, known)
            if pair is None:
                return None
            kind = "random" if scores is None else "suggested"
            question = Question(secrets.token_urlsafe(9), *pair, kind, rater)
            self._open[question.name] = question
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
            return question

    def answer(self, name: str, answer: str, rater: str | None = None) -> bool:
        """Save an answer to an open question; False where it is not open (any more), and nothing is saved.

        So a page that sends an answer twice, or two tabs with the same question, count once.
        """
        if answer not in ANSWERS:
            raise MarginRankError(f"answer must be one of {', '.join(ANSWERS)}.")
        with self._news:
            question = self._open.pop(name, None)
            if question is None:
                return False
            by = question.rater if rater is None else rater_name(rater)
            a, b = (question.b, question.a) if answer == "b" else (question.a, question.b)
            word = "win" if answer in ("a", "b") else answer
            try:
                self.answers.append(Judgement(a, b, word, question.kind, by))
            except OSError:
                self._open[name] = question  # not saved: it can be sent again
                raise
            self._wanted = True
            self._news.notify_all()
            return True

    def status(self) -> dict[str, Any]:
        """Return counts, the ranking as it is now, and how good it is known to be, as plain values."""
        judgements = list(self.answers.judgements)
        raters: dict[str, int] = {}
        for one in judgements:
            raters[one.rater] = raters.get(one.rater, 0) + 1
        found = self.learned
        status: dict[str, Any] = {
            "answers": len(judgements),
            "ties": sum(one.answer == "tie" for one in judgements),
            "skipped": sum(one.answer == "skip" for one in judgements),
            "raters": raters,
            "learned": None,
        }
        if found is not None:
            status["learned"] = {
                "from": found.n_answers,
                "gap": found.gap,
                "tested": found.n_tested,
                "accuracy": found.accuracy,
                "weights": int(np.count_nonzero(found.model.coef)),
                "top": [self._shown(k) for k in self.ranking()[:_TOP]],
            }
        return status

    def _shown(self, row: int) -> str:
        """Return what an item is called in the ranking: its id, and the first text that is no feature."""
        texts = [text for name, text in self.items.fields[row] if name not in self.items.feature_names]
        return visible(" ".join([self.items.ids[row], *texts[:1]]))

    def ranking(self) -> list[int]:
        """Return the rows of the items, best first; in the order of the file while nothing is learned."""
        if self.learned is None:
            return list(range(len(self.items.ids)))
        order: list[int] = np.argsort(-self.learned.scores, kind="stable").tolist()
        return order

    def settle(self) -> None:
        """Wait until the model has seen all answers."""
        with self._news:
            self._news.wait_for(lambda: self._ended or not self._wanted)

    def close(self) -> None:
        """End the background work, and let go of the file."""
        with self._news:
            self._ended = True
            self._news.notify_all()
        self._worker.join()
        self.answers.close()

    def _follow(self) -> None:
        """Refit whenever there are answers that the model has not seen; those of meanwhile come next."""
        start = None
        while True:
            with self._news:
                self._news.wait_for(lambda: self._ended or self._wanted)
                if self._ended:
                    return
                judgements = list(self.answers.judgements)
            found = learn(self.items.X, judgements, feature_names=self.items.feature_names, start=start)
            with self._news:
                if found is not None:
                    self.learned, start = found
                self._wanted = len(judgements) < len(self.answers.judgements)
                self._news.notify_all()
