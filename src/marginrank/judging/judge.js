"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const token = new URLSearchParams(location.search).get("token");
  const words = ["a", "b", "tie", "skip"];
  let question = null, busy = false, asked = 0;
  const rater = byId("rater");
  rater.value = sessionStorage.getItem("rater") || rater.value;

  const ask = async (path, options = {}) => {
    const answer = await fetch(path, { ...options, headers: { "X-Token": token, ...options.headers }, cache: "no-store" });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.error);
    return content;
  };
  const item = (side, one) => {
    const place = byId(`item-${side}`);
    place.replaceChildren();
    byId(`title-${side}`).textContent = side.toUpperCase();
    if (one.image) {
      const picture = document.createElement("img");
      picture.alt = `Picture of ${one.id}`;
      picture.src = `/image?item=${one.row}&token=${encodeURIComponent(token)}`;
      place.append(picture);
    }
    const list = document.createElement("dl");
    for (const [name, text] of [["id", one.id], ...one.fields]) {
      const term = document.createElement("dt"), value = document.createElement("dd"), within = document.createElement("bdi");
      term.textContent = name;
      within.textContent = text;
      value.append(within);
      list.append(term, value);
    }
    place.append(list);
  };
  const percent = (share) => `${Math.round(100 * share)} %`;
  const status = (now) => {
    const many = Object.keys(now.raters).length;
    const extra = [now.ties && `${now.ties} equal`, now.skipped && `${now.skipped} skipped`, many > 1 && `${many} raters`];
    byId("answers").textContent = [now.answers, ...extra.filter(Boolean)].join(", ");
    const found = now.learned;
    if (!found) return;
    const sure = found.accuracy;
    byId("accuracy").textContent = sure
      ? `${percent(sure[0])} of ${found.tested} (${percent(sure[1])} to ${percent(sure[2])})`
      : `too few yet (${found.tested})`;
    byId("certificate").textContent = `within ${found.gap.toPrecision(2)} of the optimum of ${found.from} answers`;
    byId("weights").textContent = String(found.weights);
    // Only what changed: a reader would lose its place in the list.
    if (byId("top").dataset.shown === JSON.stringify(found.top)) return;
    byId("top").dataset.shown = JSON.stringify(found.top);
    byId("top").replaceChildren(...found.top.map((name) => {
      const row = document.createElement("li"), within = document.createElement("bdi");
      within.textContent = name;
      row.append(within);
      return row;
    }));
  };
  const show = (content, saved = false) => {
    question = content.question;
    status(content.status);
    for (const word of words) byId(`answer-${word}`).disabled = question === null;
    if (question === null) {
      byId("message").textContent = "Every pair has been answered by you.";
      return;
    }
    item("a", content.a);
    item("b", content.b);
    byId("pair").dataset.question = question;
    asked += 1;
    byId("news").textContent = `${saved ? "Saved. " : ""}Question ${asked}: A is ${content.a.id}, B is ${content.b.id}`;
  };
  const fail = (error) => {
    byId("message").textContent = error instanceof TypeError
      ? "marginrank judge has ended. What you answered is saved; start it again to go on."
      : error.message;
  };
  const send = async (word) => {
    if (busy || question === null) return;
    busy = true;
    byId("message").textContent = "";
    try {
      const body = JSON.stringify({ question, answer: word, rater: rater.value });
      show(await ask("/answer", { method: "POST", body, headers: { "Content-Type": "application/json" } }), true);
    } catch (error) { fail(error); }
    busy = false;
  };
  for (const word of words) byId(`answer-${word}`).addEventListener("click", () => send(word));
  const keys = { a: "a", ArrowLeft: "a", b: "b", ArrowRight: "b", t: "tie", s: "skip" };
  document.addEventListener("keydown", (event) => {
    if (!byId("keys").checked || event.target === rater || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const word = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (word) { event.preventDefault(); send(word); }
  });
  const start = () => ask(`/question?rater=${encodeURIComponent(rater.value)}`).then((content) => show(content), fail);
  rater.addEventListener("change", () => { sessionStorage.setItem("rater", rater.value); start(); });
  for (const what of ["pairs", "ranking", "model"]) {
    byId(`export-${what}`).href = `/export?what=${what}&token=${encodeURIComponent(token)}`;
  }
  // The model follows in the background; look now and then what it has learned.
  setInterval(() => { ask("/status").then(status, fail); }, 1500);
  start();
})();
