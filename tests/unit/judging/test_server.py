"""The page's server: who may ask, what is saved, and what a killed process leaves."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from limits import HANG
from marginrank import RankingModel
from marginrank.exceptions import MarginRankError
from marginrank.io import load_pairs
from marginrank.judging.answers import AnswerFile
from marginrank.judging.items import read_items
from marginrank.judging.server import JudgeServer
from marginrank.judging.session import Session

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def items(tmp_path):
    """Return a file of thirty items."""
    rng = np.random.default_rng(0)
    rows = [f"i{k},<b>{k}</b>,{x:.3f},{y:.3f}" for k, (x, y) in enumerate(rng.normal(size=(30, 2)))]
    (tmp_path / "items.csv").write_text("\n".join(["id,text,x,y", *rows, ""]))
    return tmp_path / "items.csv"


class Client:
    """What a page does, with the token of a printed address."""

    def __init__(self, url):
        self.home = "http://" + urlsplit(url).netloc
        self.token = parse_qs(urlsplit(url).query)["token"][0]

    def send(self, path, body=None, token=None, **headers):
        headers = {"X-Token": self.token if token is None else token, **headers}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.home + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=HANG) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def json(self, path, body=None):
        code, content = self.send(path, body)
        assert code == 200, content
        return json.loads(content)

    def judge(self, shown, rater="me"):
        """Answer by the first number."""
        values = [float(dict(shown[side]["fields"])["x"]) for side in "ab"]
        answer = "a" if values[0] > values[1] else "b"
        return self.json("/answer", {"question": shown["question"], "answer": answer, "rater": rater})


@pytest.fixture
def client(items, tmp_path):
    """Return a client of a running server; ``client.session`` is what it serves."""
    read = read_items(str(items))
    session = Session(read, AnswerFile(str(tmp_path / "pairs.csv"), read.ids), random_state=0)
    server = JudgeServer(session)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found = Client(server.url)
    found.session = session
    yield found
    server.shutdown()
    thread.join()
    server.server_close()
    session.close()


@pytest.mark.parametrize(
    "path", ["/", "/question", "/status", "/export?what=pairs", "/image?item=0", "/else"]
)
@pytest.mark.parametrize("token", ["", "x", "é"])
def test_a_request_without_the_token_gets_403(client, path, token):
    assert client.send(path, token=token.encode().decode("latin-1"))[0] == 403


def test_an_answer_without_the_token_gets_403_and_is_not_saved(client):
    shown = client.json("/question?rater=me")
    body = {"question": shown["question"], "answer": "a", "rater": "me"}
    assert client.send("/answer", body, token="")[0] == 403
    # A token in the address is for pages and files only: a form of another page could carry it.
    assert client.send(f"/answer?token={client.token}", body, token="")[0] == 403
    assert client.session.answers.judgements == []


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": "127.0.0.1"}, {"Origin": "http://evil.example"}, {"Origin": "null"}],
)
def test_other_hosts_and_other_pages_get_403(client, headers):
    assert client.send("/status", **headers)[0] == 403


def test_the_server_listens_on_this_machine_only(client):
    assert client.home.startswith("http://127.0.0.1:")


def test_answers_are_saved_learned_from_and_exported(client, tmp_path):
    shown = client.json("/question?rater=me")
    for _ in range(25):
        shown = client.judge(shown)
    client.session.settle()
    status = client.json("/status")
    assert status["answers"] == 25
    assert status["learned"]["from"] == 25
    assert status["learned"]["gap"] <= 1e-3
    assert client.send("/export?what=pairs")[1] == (tmp_path / "pairs.csv").read_bytes()
    (tmp_path / "m.mrk").write_bytes(client.send("/export?what=model")[1])
    model = RankingModel.load(str(tmp_path / "m.mrk"))
    assert model.feature_names == ("x", "y")
    assert model.coef[0] > abs(model.coef[1])
    lines = client.send("/export?what=ranking")[1].decode().splitlines()
    scores = [float(line.split(",")[2]) for line in lines[1:]]
    assert len(scores) == 30
    assert scores == sorted(scores, reverse=True)


def test_an_answer_that_is_sent_twice_counts_once(client):
    shown = client.json("/question?rater=me")
    body = {"question": shown["question"], "answer": "tie", "rater": "me"}
    assert client.json("/answer", body)["saved"] is True
    assert client.json("/answer", body)["saved"] is False
    assert [one.answer for one in client.session.answers.judgements] == ["tie"]


def test_many_tabs_at_once_leave_a_whole_file(client, tmp_path):
    def tab(name):
        shown = client.json(f"/question?rater={name}")
        for _ in range(10):
            shown = client.judge(shown, name)

    tabs = [threading.Thread(target=tab, args=(f"r{k}",)) for k in range(4)]
    for one in tabs:
        one.start()
    for one in tabs:
        one.join()
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    assert len(lines) == 41
    assert {line.split(",")[5] for line in lines[1:]} == {"r0", "r1", "r2", "r3"}
    assert len(load_pairs(str(tmp_path / "pairs.csv"), ids=client.session.items.ids).pairs) == 40
    assert client.json("/status")["raters"] == {f"r{k}": 10 for k in range(4)}


@pytest.mark.parametrize("body", [{}, [], 5, {"question": "x", "answer": "c", "rater": "me"}])
def test_what_is_no_answer_gets_400(client, body):
    assert client.send("/answer", body)[0] == 400


def test_a_rater_who_has_answered_every_pair_is_told(tmp_path):
    (tmp_path / "two.csv").write_text("x\n1\n2\n")
    read = read_items(str(tmp_path / "two.csv"))
    session = Session(read, AnswerFile(str(tmp_path / "p.csv"), read.ids))
    session.answer(session.ask("me").name, "a")
    assert session.ask("me") is None
    assert session.ask("you") is not None
    session.close()


def started(items, *more):
    """Return a process that judges, and a client of it."""
    command = [sys.executable, "-m", "marginrank", "judge", str(items), "-o", "p.csv", "--no-browser", *more]
    process = subprocess.Popen(
        command, cwd=items.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if line.startswith("page"):
            return process, Client(line.split()[1])
    raise AssertionError(process.stderr.read())


def test_a_killed_process_keeps_every_answer_that_was_confirmed(items):
    confirmed = 0
    for _ in range(2):
        process, client = started(items)
        shown = client.json("/question?rater=me")
        assert shown["status"]["answers"] == confirmed
        for _ in range(5):
            shown = client.judge(shown)
            confirmed += 1
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=HANG)
    read = read_items(str(items))
    file = AnswerFile(str(items.parent / "p.csv"), read.ids)
    assert len(file.judgements) == confirmed
    file.close()


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.11, 0.17])
def test_a_kill_at_any_moment_loses_at_most_the_answer_on_screen(items, delay):
    process, client = started(items)
    killer = threading.Timer(delay, os.kill, (process.pid, signal.SIGKILL))
    confirmed = 0
    shown = client.json("/question?rater=me")
    killer.start()
    try:
        for _ in range(400):  # thirty items have 435 pairs
            shown = client.judge(shown)
            confirmed += 1
    except (OSError, HTTPException):  # killed while it was answering
        pass
    process.communicate(timeout=HANG)
    read = read_items(str(items))
    file = AnswerFile(str(items.parent / "p.csv"), read.ids)
    # One may be on the disk whose confirmation was never sent.
    assert len(file.judgements) in (confirmed, confirmed + 1)
    file.close()
    assert load_pairs(str(items.parent / "p.csv"), ids=read.ids).pairs.shape == (len(file.judgements), 2)


def test_ctrl_c_ends_it_and_writes_model_and_ranking(items):
    process, client = started(items, "--model", "m.mrk", "--ranking", "r.csv")
    shown = client.json("/question?rater=me")
    for _ in range(3):
        shown = client.judge(shown)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=HANG)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert RankingModel.load(str(items.parent / "m.mrk")).n_features == 2
    assert len((items.parent / "r.csv").read_text().splitlines()) == 31


def test_pictures_are_sent_and_nothing_beside_them(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(PNG)
    folder = tmp_path / "items"
    folder.mkdir()
    (folder / "a.png").write_bytes(PNG)
    (folder / "items.csv").write_text("image,x\na.png,1\na.png,2\n")
    assert [file.name for file in read_items(str(folder / "items.csv")).pictures] == ["a.png", "a.png"]
    for name in ("../secret.png", "/etc/passwd", "a.svg", "none.png"):
        (folder / "items.csv").write_text(f"image,x\na.png,1\n{name},2\n")
        with pytest.raises(MarginRankError, match="expected a picture"):
            read_items(str(folder / "items.csv"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x\n1\n", "expected a header and two items or more"),
        ("x,x\n1,2\n3,4\n", "a name of its own for each column"),
        ("x,y\n1,2\n3\n", "expected 2 fields in item 2, got 1"),
        ("text\na\nb\n", "expected a column of numbers to learn from"),
        ("id,x\na,1\na,2\n", "expected an id of its own for each item; 1 and 2 are both called 'a'"),
        ('id,x\n"a,b",1\nc,2\n', "expected an id without commas"),
    ],
)
def test_items_that_cannot_be_judged_are_refused_in_a_sentence(tmp_path, text, said):
    (tmp_path / "items.csv").write_text(text)
    with pytest.raises(MarginRankError, match=said):
        read_items(str(tmp_path / "items.csv"))


def test_only_named_columns_are_learned_from(items):
    assert read_items(str(items), features=("y",)).feature_names == ("y",)
    with pytest.raises(MarginRankError, match="expected a number in column text of item 1"):
        read_items(str(items), features=("text",))
