"use strict";
// Reads off values of the charts, hides and shows their series, and zooms. The charts are complete without it.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Size of the coordinate system of lines, as in graph.rs.
  const WIDTH = 10000;
  const HEIGHT = 2000;
  // The narrowest view, of which positions still tell points apart.
  const SPAN_MIN = 200;
  // Pixels within which points of different lines are read together, and between ticks.
  const TOGETHER = 12;
  const TICK_GAP = 80;
  // Share of the width for the name of a period.
  const NAME_ROOM = 0.1;
  // Pixels from which a drag selects.
  const DRAG_MIN = 5;

  const charts = [];

  const element = (name, attributes = {}) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const html = (name, text = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  };
  const percent = (share) => `${+(share * 100).toFixed(3)}%`;
  const clamp = (value, least, greatest) => Math.min(Math.max(value, least), greatest);

  // Index of the number nearest to `place`, in ascending numbers.
  const nearest = (numbers, place) => {
    let [low, high] = [0, numbers.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < place) low = middle;
      else high = middle;
    }
    return place - numbers[low] <= numbers[high] - place ? low : high;
  };

  class Chart {
    constructor(values) {
      this.values = values;
      this.root = document.getElementById(values.id);
      this.graph = this.root.querySelector(".graph");
      this.frame = this.root.querySelector(".frame");
      this.plot = this.root.querySelector(".lines");
      this.entries = [...this.root.querySelectorAll(".legend button")];
      this.view = [0, WIDTH];
      this.place = null;
      this.ticks = element("g", { class: "ticks x own" });
      this.cross = element("g", { class: "cross" });
      this.frame.insertBefore(this.ticks, this.plot);
      this.frame.append(this.cross);
      this.reading = html("div");
      this.reading.className = "reading";
      this.reading.setAttribute("role", "status");
      this.reading.hidden = true;
      this.graph.append(this.reading);
      this.graph.tabIndex = 0;
      this.graph.setAttribute("role", "group");
      this.graph.setAttribute("aria-label", "Arrow keys read off values; plus, minus and Escape zoom");
      const tools = this.root.querySelector(".tools");
      [this.closer, this.whole] = tools.querySelectorAll("button");
      tools.hidden = false;
      this.listen();
    }

    listen() {
      this.entries.forEach((entry) => {
        entry.disabled = false;
        entry.addEventListener("click", () => this.toggle(entry));
      });
      this.closer.addEventListener("click", () => this.zoom(0.5));
      this.whole.addEventListener("click", () => this.show(0, WIDTH));
      this.graph.addEventListener("keydown", (event) => this.key(event));
      this.graph.addEventListener("pointerdown", (event) => this.press(event));
      this.graph.addEventListener("pointermove", (event) => this.move(event));
      this.graph.addEventListener("pointerup", (event) => this.release(event));
      this.graph.addEventListener("pointercancel", () => this.cancel());
      this.graph.addEventListener("pointerleave", (event) => {
        // A finger leaves when it is lifted.
        if (event.pointerType !== "touch") this.read(null);
      });
      this.graph.addEventListener("dblclick", () => this.show(0, WIDTH));
    }

    isShown(series) {
      return this.entries[series]?.getAttribute("aria-pressed") !== "false";
    }

    // Lines shown, each with its positions.
    shown() {
      const { lines, places } = this.values;
      return lines.filter((line) => this.isShown(line.series)).map((line) => ({ ...line, at: places[line.places] }));
    }

    toggle(entry) {
      const isOn = entry.getAttribute("aria-pressed") === "false";
      entry.setAttribute("aria-pressed", isOn);
      for (const part of this.frame.querySelectorAll(`[data-series="${entry.dataset.series}"]`)) {
        part.classList.toggle("off", !isOn);
      }
      this.read(this.place);
    }

    // Position of a view as a share of the frame, and back.
    share(place) {
      return (place - this.view[0]) / (this.view[1] - this.view[0]);
    }

    placeOf(event) {
      const { left, width } = this.frame.getBoundingClientRect();
      return this.view[0] + clamp((event.clientX - left) / width, 0, 1) * (this.view[1] - this.view[0]);
    }

    // Whether a position is in the view.
    isSeen(place) {
      const share = this.share(place);
      return share >= 0 && share <= 1;
    }

    // Index of the point of a line that is drawn nearest to a position; undefined without one.
    nearestDrawn(line, place) {
      const drawn = [...line.y.keys()].filter((index) => line.y[index] !== null && this.isSeen(line.at.x[index]));
      return drawn[nearest(drawn.map((index) => line.at.x[index]), place)];
    }

    // Shows the values at a position, or none.
    read(place) {
      this.place = place;
      this.cross.replaceChildren();
      this.reading.hidden = place === null;
      if (place === null) return;
      const near = TOGETHER / this.frame.getBoundingClientRect().width * (this.view[1] - this.view[0]);
      const found = [];
      let isGap = true;
      for (const line of this.shown()) {
        const index = this.nearestDrawn(line, place);
        if (index === undefined) continue;
        found.push({ line, x: line.at.x[index], y: line.y[index], name: line.at.names[index], text: line.texts[index] });
        isGap &&= line.y[nearest(line.at.x, place)] === null;
      }
      const first = found.reduce((a, b) => (Math.abs(b.x - place) < Math.abs(a.x - place) ? b : a), found[0]);
      // In a gap of all lines there is nothing to read, except right beside a point.
      if (!first || (isGap && Math.abs(first.x - place) > near)) {
        this.reading.hidden = true;
        return;
      }
      const share = this.share(first.x);
      this.cross.append(element("line", { x1: percent(share), x2: percent(share), y2: "100%" }));
      const rows = html("dl");
      for (const { line, x, y, name, text } of found) {
        if (Math.abs(x - first.x) > near) continue;
        const entry = this.entries[line.series];
        const term = html("dt", entry.textContent.trim());
        term.prepend(entry.querySelector("svg").cloneNode(true));
        rows.append(term, html("dd", name === first.name ? text : `${text} at ${name}`));
        const color = entry.querySelector("g").style.color;
        const dot = element("circle", { r: 4, cx: percent(this.share(x)), cy: percent(y / HEIGHT) });
        dot.style.color = color;
        this.cross.append(dot);
      }
      this.reading.replaceChildren(html("strong", first.name), rows);
      this.reading.style.left = share < 0.5 ? `calc(${percent(share)} + 14px)` : "auto";
      this.reading.style.right = share < 0.5 ? "auto" : `calc(${percent(1 - share)} + 14px)`;
    }

    // Moves the reading to another point: the first, the last, or some points further.
    step(by) {
      const places = new Set(this.shown().flatMap((line) => line.at.x.filter((_, index) => line.y[index] !== null)));
      const sorted = [...places].filter((x) => this.isSeen(x)).sort((a, b) => a - b);
      if (sorted.length === 0) return;
      const from = this.place === null ? (by > 0 ? -1 : sorted.length) : nearest(sorted, this.place);
      this.read(sorted[clamp(from + by, 0, sorted.length - 1)]);
    }

    key(event) {
      const actions = {
        ArrowRight: () => this.step(1),
        ArrowLeft: () => this.step(-1),
        PageDown: () => this.step(10),
        PageUp: () => this.step(-10),
        Home: () => this.step(-Infinity),
        End: () => this.step(Infinity),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        Escape: () => {
          if (this.drag) this.cancel();
          else if (this.isWhole()) this.read(null);
          else this.show(0, WIDTH);
        },
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    }

    press(event) {
      // On touch screens a drag scrolls the page or reads off values; a button zooms.
      if (event.button !== 0 || event.pointerType === "touch") return;
      this.drag = { from: this.placeOf(event), x: event.clientX, id: event.pointerId };
    }

    move(event) {
      // The button was released outside.
      if (this.drag && event.buttons === 0) this.cancel();
      const place = this.placeOf(event);
      if (!this.drag) {
        this.read(place);
      } else if (this.drag.range || Math.abs(event.clientX - this.drag.x) >= DRAG_MIN) {
        if (!this.drag.range) {
          this.drag.range = element("rect", { class: "range", height: "100%" });
          this.frame.append(this.drag.range);
          this.graph.setPointerCapture(this.drag.id);
          this.read(null);
        }
        const [from, to] = [this.drag.from, place].sort((a, b) => a - b).map((end) => this.share(end));
        this.drag.range.setAttribute("x", percent(from));
        this.drag.range.setAttribute("width", percent(to - from));
      }
    }

    release(event) {
      const { drag } = this;
      const to = this.placeOf(event);
      this.cancel();
      if (drag?.range) this.show(Math.min(drag.from, to), Math.max(drag.from, to));
    }

    cancel() {
      this.drag?.range?.remove();
      this.drag = null;
    }

    isWhole() {
      return this.view[0] <= 0 && this.view[1] >= WIDTH;
    }

    // Zooms by a factor around the position read, or the middle.
    zoom(factor) {
      const [from, to] = this.view;
      const middle = this.place ?? (from + to) / 2;
      const span = (to - from) * factor;
      const start = clamp(middle - (middle - from) * factor, 0, Math.max(0, WIDTH - span));
      this.show(start, start + span);
    }

    // Shows a part of the x axis, also in the other charts over the same time.
    show(from, to) {
      const span = clamp(to - from, SPAN_MIN, WIDTH);
      const start = clamp((from + to - span) / 2, 0, WIDTH - span);
      const isOverTime = this.values.quantity === "seconds";
      for (const chart of isOverTime ? charts.filter((other) => other.values.quantity === "seconds") : [this]) {
        chart.view = [start, start + span];
        chart.draw();
      }
    }

    draw() {
      const [from, to] = this.view;
      this.root.classList.toggle("zoomed", !this.isWhole());
      this.whole.disabled = this.isWhole();
      this.plot.setAttribute("viewBox", `${from} 0 ${to - from} ${HEIGHT}`);
      for (const mark of this.frame.querySelectorAll("[data-x]")) {
        const share = this.share(mark.dataset.x);
        mark.style.display = share < 0 || share > 1 ? "none" : "";
        const names = mark.tagName === "line" ? ["x1", "x2"] : ["x"];
        names.forEach((name) => mark.setAttribute(name, percent(share)));
      }
      for (const part of this.frame.querySelectorAll("[data-from]")) {
        const [first, last] = [this.share(part.dataset.from), this.share(part.dataset.to)];
        const [left, right] = [clamp(first, 0, 1), clamp(last, 0, 1)];
        const isEnd = part.classList.contains("end");
        part.setAttribute("x", percent(isEnd ? right : left));
        if (part.tagName === "rect") part.setAttribute("width", percent(right - left));
        // A name needs some room on its side.
        const isCut = part.tagName === "text" && !this.isWhole() && (isEnd ? right < NAME_ROOM : left > 1 - NAME_ROOM);
        part.style.display = last < 0 || first > 1 || isCut ? "none" : "";
      }
      this.ticks.replaceChildren();
      if (!this.isWhole()) this.drawTicks();
      this.read(null);
    }

    drawTicks() {
      const { scale, quantity, from, to } = this.values;
      const isLogarithmic = scale === "logarithmic";
      const value = (place) => {
        const at = from + place / WIDTH * (to - from);
        return isLogarithmic ? 10 ** at : at;
      };
      const share = (number) => this.share(((isLogarithmic ? Math.log10(number) : number) - from) / (to - from) * WIDTH);
      const [low, high] = this.view.map(value);
      const { width } = this.frame.getBoundingClientRect();
      if (width === 0) return;
      const least = quantity === "round" ? 1 : 0;
      const step = Math.max(least, round((high - low) / (width / TICK_GAP)));
      let numbers = [];
      if (isLogarithmic) {
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
          numbers.push(...[1, 2, 5].map((digit) => digit * 10 ** power).filter((one) => one >= low && one <= high));
        }
      }
      if (numbers.length < 3) {
        const first = Math.ceil(low / step - 1e-9);
        const count = Math.floor(high / step + 1e-9) - first + 1;
        numbers = Array.from({ length: count }, (_, index) => (first + index) * step);
      }
      let last = -Infinity;
      for (const number of numbers) {
        const at = share(number);
        if (at < -1e-6 || at > 1 + 1e-6 || (at - last) * width < TICK_GAP * 0.7) continue;
        last = at;
        this.ticks.append(element("line", { x1: percent(at), x2: percent(at), y2: "100%" }));
        const label = element("text", { x: percent(at), y: "100%", dy: "1.5em" });
        label.textContent = name(quantity, number, numbers.length > 1 ? numbers[1] - numbers[0] : number);
        this.ticks.append(label);
      }
    }
  }

  // The next greater of 1, 2, 5, 10 and so on.
  const round = (number) => {
    const power = 10 ** Math.floor(Math.log10(number));
    return [1, 2, 5, 10].find((digit) => digit * power >= number * (1 - 1e-9)) * power;
  };

  // Label of a tick among others `apart`.
  const name = (quantity, number, apart) => {
    if (quantity === "percentile") {
      const nines = Math.max(Math.floor(Math.log10(number) + 1e-9), 0);
      return `p${+(100 - 100 / number).toFixed(nines)}`;
    }
    if (quantity === "time") {
      const [factor, unit] = number >= 1000 ? [1000, "s"] : number >= 1 ? [1, "ms"] : [0.001, "µs"];
      return `${name("number", number / factor, apart / factor)} ${unit}`;
    }
    const digits = clamp(-Math.floor(Math.log10(apart) + 1e-9), 0, 9);
    return number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };

  for (const values of JSON.parse(document.getElementById("charts").textContent)) charts.push(new Chart(values));

  for (const button of document.querySelectorAll("button.copy")) {
    const text = button.parentElement.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
  }
})();
