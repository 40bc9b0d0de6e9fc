"""The page's server: on this machine only, for who has the token, and for no other page in the browser.

A request is answered if it names this machine (``Host``, so that no foreign name is pointed here) and brings
the token, which only the address that was printed holds. Everything else gets 403.
"""

from __future__ import annotations

import csv
import hmac
import io
import json
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from marginrank.judging.items import PICTURES
from marginrank.judging.page import judge_page
from marginrank.judging.session import Question, Session
from marginrank.markup import visible

_MOST_BYTES = 65_536
_LONGEST_FIELD = 2_000
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class JudgeServer(ThreadingHTTPServer):
    """Serves a session on the loopback address.

    Parameters
    ----------
    session : Session
        What is judged.
    port : int, default=0
        0 takes a free one.
    rater : str, default="me"
        The name that the page starts with.
    """

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, session: Session, *, port: int = 0, rater: str = "me") -> None:
        self.session = session
        self.token = secrets.token_urlsafe(32)
        super().__init__(("127.0.0.1", port), _Handler)
        self.page = judge_page(rater)

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: JudgeServer
    server_version = "marginrank"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Answer what changes nothing."""
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        if not self._may(query.get("token", "")):
            return
        page, session = self.server.page, self.server.session
        if parts.path == "/":
            self._send(
                200, page.text.encode(), "text/html; charset=utf-8", {"Content-Security-Policy": page.policy}
            )
        elif parts.path == "/question":
            self._json(200, _question(session, session.ask(query.get("rater", ""))))
        elif parts.path == "/status":
            self._json(200, session.status())
        elif parts.path == "/image":
            self._image(query.get("item", ""))
        elif parts.path == "/export":
            self._export(query.get("what", ""))
        else:
            self._json(404, {"error": "There is nothing here."})

    def do_POST(self) -> None:
        """Take an answer."""
        length = self.headers.get("Content-Length", "")
        if not self._may(""):
            return
        if urlsplit(self.path).path != "/answer":
            self._json(404, {"error": "There is nothing here."})
            return
        if not length.isdigit() or int(length) > _MOST_BYTES:
            self._json(413, {"error": f"An answer has at most {_MOST_BYTES} bytes."})
            return
        session = self.server.session
        try:
            given = json.loads(self.rfile.read(int(length)))
            name, answer, rater = (str(given[key]) for key in ("question", "answer", "rater"))
            saved = session.answer(name, answer, rater)
        except (ValueError, KeyError, TypeError, RecursionError):  # MarginRankError is a ValueError
            self._json(400, {"error": "An answer has a question, an answer (a, b, tie or skip) and a rater."})
        except OSError as error:
            self._json(
                507, {"error": f"The answer was not saved: {error.strerror}. Make room, and send it again."}
            )
        else:
            self._json(200, {"saved": saved, **_question(session, session.ask(rater))})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: addresses hold the token."""

    def _may(self, token: str) -> bool:
        """Whether the request is for this machine and brings the token; the answer is 403 if not."""
        port = self.server.server_address[1]
        host = self.headers.get("Host", "")
        given = self.headers.get("X-Token") or token
        origin = self.headers.get("Origin")
        homes = {f"127.0.0.1:{port}", f"localhost:{port}"}
        allowed = (
            host in homes
            and (origin is None or origin in {f"http://{home}" for home in homes})
            and hmac.compare_digest(given.encode("utf-8", "replace"), self.server.token.encode())
        )
        if not allowed:
            self._json(403, {"error": "Open the address that marginrank judge printed."})
        return allowed

    def _image(self, item: str) -> None:
        pictures = self.server.session.items.pictures
        if pictures is None or not item.isdigit() or int(item) >= len(pictures):
            self._json(404, {"error": "There is no such picture."})
            return
        file = pictures[int(item)]
        try:
            content = file.read_bytes()
        except OSError:
            self._json(404, {"error": "There is no such picture."})
            return
        self._send(200, content, PICTURES[file.suffix.lower()])

    def _export(self, what: str) -> None:
        session = self.server.session
        session.settle()
        content = exported(session, what)
        if content is None:
            self._json(
                404, {"error": "There are exports of pairs, ranking and model, once something is learned."}
            )
            return
        name = {"pairs": "pairs.csv", "ranking": "ranking.csv", "model": "model.mrk"}[what]
        kind = "application/octet-stream" if what == "model" else "text/csv; charset=utf-8"
        self._send(200, content, kind, {"Content-Disposition": f'attachment; filename="{name}"'})

    def _json(self, code: int, content: dict[str, Any]) -> None:
        self._send(code, json.dumps(content).encode(), "application/json")

    def _send(self, code: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.close_connection = True
        try:
            self.send_response(code)
            for name, value in {**_HEADERS, **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):  # the page was closed
            return


def exported(session: Session, what: str) -> bytes | None:
    """Return the answers, the ranking or the model as a file; None where there is none."""
    if what == "pairs":
        with open(session.answers.path, "rb") as file:
            return file.read()
    if session.learned is None or what not in ("ranking", "model"):
        return None
    if what == "model":
        stream = io.BytesIO()
        session.learned.model.save(stream)
        return stream.getvalue()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rank", "id", "score"])
    scores = session.learned.scores
    rows = session.ranking()
    writer.writerows([k, session.items.ids[row], repr(float(scores[row]))] for k, row in enumerate(rows, 1))
    return text.getvalue().encode()


def _question(session: Session, question: Question | None) -> dict[str, Any]:
    """Return what a page shows of a question; which of them are a test is not told."""
    if question is None:
        return {"question": None, "status": session.status()}
    shown = {side: _item(session, row) for side, row in (("a", question.a), ("b", question.b))}
    return {"question": question.name, **shown, "status": session.status()}


def _item(session: Session, row: int) -> dict[str, Any]:
    items = session.items
    fields = [[visible(name), visible(text, _LONGEST_FIELD)] for name, text in items.fields[row]]
    return {"id": visible(items.ids[row]), "row": row, "fields": fields, "image": items.pictures is not None}
