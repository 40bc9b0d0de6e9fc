"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = (id) => (byId(id) ? JSON.parse(byId(id).textContent) : null);
  // Numbers as they stand in cells: signs, commas, percent, "0.51 to 0.59" by its first figure, "3 (up 2)".
  const figure = (text) => {
    const found = /^[^\d+-]*([+-]?[\d.,]+(?:e[+-]?\d+)?)/.exec(text.trim());
    return found ? Number(found[1].replace(/,/g, "")) : NaN;
  };
  const compare = (a, b) => {
    const x = figure(a), y = figure(b);
    if (!Number.isNaN(x) && !Number.isNaN(y) && x !== y) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  // A head becomes a button; what a press means is up to the table.
  const sortableHead = (table, press) => {
    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        press(head.cellIndex, descending ? -1 : 1);
      });
    });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    sortableHead(table, (column, sign) => {
      const body = table.tBodies[0];
      const rows = [...body.rows];
      rows.sort((a, b) => sign * compare(a.cells[column].textContent, b.cells[column].textContent));
      body.append(...rows);
    });
  }

  const queries = data("query-data");
  if (queries) {
    const table = byId("query-table"), body = table.tBodies[0];
    let metric = queries.metric, shown = queries.ids.map((_, k) => k), first = 0, order = null;
    const value = (k, column) => {
      if (column === 0) return queries.ids[k];
      if (column === 1) return queries.rows[k];
      const columns = queries.values[metric], n = columns.length;
      if (column < 2 + n) return columns[column - 2][k];
      const a = columns[0][k], b = columns[column - 1 - n][k];
      return a === null || b === null ? null : b - a;
    };
    const text = (k, column) => {
      const one = value(k, column);
      if (column < 2) return String(one);
      if (one === null) return "-";
      const fixed = one.toFixed(4), n = queries.values[metric].length;
      return column < 2 + n ? fixed : (one >= 0 ? "+" : "") + fixed;
    };
    const draw = () => {
      const last = Math.min(first + queries.page, shown.length);
      const width = table.tHead.rows[0].cells.length;
      body.replaceChildren(...shown.slice(first, last).map((k) => {
        const row = document.createElement("tr");
        for (let column = 0; column < width; column++) {
          const cell = document.createElement(column ? "td" : "th");
          if (column) cell.textContent = text(k, column);
          else {
            const name = document.createElement("bdi");
            name.textContent = text(k, 0);
            cell.scope = "row";
            cell.append(name);
          }
          row.append(cell);
        }
        return row;
      }));
      const count = shown.length.toLocaleString("en");
      byId("query-place").textContent = shown.length ? `${first + 1} to ${last} of ${count}` : "No query has this id";
      byId("query-previous").disabled = first === 0;
      byId("query-next").disabled = last >= shown.length;
    };
    const arrange = () => {
      const wanted = byId("query-search").value.trim().toLowerCase();
      shown = queries.ids.map((_, k) => k).filter((k) => queries.ids[k].toLowerCase().includes(wanted));
      if (order) {
        const [column, sign] = order;
        shown.sort((a, b) => {
          const x = value(a, column), y = value(b, column);
          if (x === null || y === null) return (x === null ? 1 : 0) - (y === null ? 1 : 0);
          const by = column ? x - y : x.localeCompare(y, "en", { numeric: true });
          return sign * by || a - b;
        });
      }
      first = 0;
      draw();
    };
    sortableHead(table, (column, sign) => { order = [column, sign]; arrange(); });
    byId("query-search").addEventListener("input", arrange);
    byId("query-metric")?.addEventListener("change", (event) => { metric = event.target.value; arrange(); });
    byId("query-previous").addEventListener("click", () => { first = Math.max(0, first - queries.page); draw(); });
    byId("query-next").addEventListener("click", () => { first += queries.page; draw(); });
    draw();
  }

  const path = data("path-data");
  if (path) {
    const slider = byId("alpha");
    const cells = document.querySelectorAll("#path-figures [data-figure]");
    const weights = document.querySelectorAll("#path-weights-table [data-weight]");
    const effects = document.querySelectorAll("#path-weights-table [data-effect]");
    const bars = document.querySelectorAll("#path-weights-table rect");
    const short = (value) => {
      const size = Math.abs(value);
      if (value === 0) return "0";
      return size >= 1e-4 && size < 1e6 ? String(value) : value.toExponential().replace("e+", "e");
    };
    const move = () => {
      const k = Number(slider.value);
      slider.setAttribute("aria-valuetext", path.spoken[k]);
      cells.forEach((cell, n) => { cell.textContent = path.texts[k][n]; });
      path.values[k].forEach((value, n) => {
        const effect = value * path.deviations[n];
        weights[n].textContent = short(value);
        effects[n].textContent = short(Number(effect.toPrecision(4)));
        const share = path.largest ? effect / path.largest : 0;
        bars[n].setAttribute("x", 60 + 58 * Math.min(share, 0));
        bars[n].setAttribute("width", 58 * Math.abs(share));
        bars[n].setAttribute("class", share < 0 ? "minus" : "plus");
      });
      for (const chart of [byId("path-metric"), byId("path-weights")]) {
        const ends = [Number(chart.dataset.first), Number(chart.dataset.last)];
        const x = ends[1] + (ends[0] - ends[1]) * path.places[k];
        for (const end of ["x1", "x2"]) chart.querySelector(".cursor").setAttribute(end, x);
      }
    };
    slider.addEventListener("input", move);
    move();
  }
  // A table that fits is no stop of the Tab key, and its frame has nothing to say: the caption does.
  const stops = () => {
    for (const one of document.querySelectorAll(".wide")) {
      one.dataset.label ||= one.getAttribute("aria-label");
      const wide = { tabindex: "0", role: "group", "aria-label": one.dataset.label };
      const scrolls = one.scrollWidth > one.clientWidth;
      for (const [name, value] of Object.entries(wide)) {
        if (scrolls) one.setAttribute(name, value);
        else one.removeAttribute(name);
      }
    }
  };
  stops();
  window.addEventListener("resize", stops);
  document.addEventListener("toggle", stops, true);
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
