// Lines over two axes, on a canvas: drag to zoom into a box, turn the wheel to zoom, click twice for all.
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#a52a2a"];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Steps of 1, 2 or 5 times a power of ten; along a logarithmic axis (values are logarithms) whole powers, and between few of these
// their multiples.
function ticks(low, high, log, most) {
  const found = [];
  if (log && high - low < 2.5) {
    for (let p = Math.floor(low); p <= high; p++) for (const f of [1, 2, 5]) {
      const v = p + Math.log10(f);
      if (v >= low && v <= high) found.push(v);
    }
    // Where there is but one of them, whole steps of the values.
    if (found.length < 2) return { found: ticks(10 ** low, 10 ** high, false, most).found.map(Math.log10), step: 0 };
    return { found, step: 0 };
  }
  const rough = (high - low) / most;
  let step = Math.pow(10, Math.floor(Math.log10(rough)));
  step *= [1, 2, 5, 10].find(f => f * step >= rough) || 10;
  if (log && high - low >= 2) step = Math.max(1, Math.round(step));
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) found.push(v);
  return { found, step };
}

function label(value, step, log) {
  if (log) {
    const v = Math.pow(10, value);
    return v >= 0.001 && v < 1000 ? String(Number(v.toPrecision(3))) : v.toExponential(Number.isInteger(+value.toFixed(6)) ? 0 : 1).replace("e+", "e");
  }
  if (Math.abs(value) < 1e-9 * step) return "0";
  const size = Math.max(Math.abs(value), step);
  if (size >= 1e5 || step < 1e-5) return value.toExponential(1);
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

class Plot {
  constructor(title, options, series) {
    this.options = options;
    this.series = series.filter(s => s.points.length > 0);
    this.series.forEach((s, i) => { s.color = s.color || COLORS[i % COLORS.length]; s.shown = true; });
    this.canvas = element("canvas", { class: "plot" });
    const hint = element("small", {}, "drag or wheel: zoom, twice: all");
    const legend = element("div", { class: "legend" });
    for (const s of this.series) {
      const box = element("input", { type: "checkbox" });
      box.checked = true;
      box.onchange = () => { s.shown = box.checked; this.draw(); };
      const mark = element("i");
      mark.style.background = s.color;
      legend.append(element("label", {}, box, mark, s.name));
    }
    this.figure = element("figure", {}, element("figcaption", {}, title, hint), this.canvas, legend);
    this.all = this.extent();
    this.range = { ...this.all };
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  value(p) { return [p[0], this.options.log ? Math.log10(p[1]) : p[1]]; }

  extent() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const s of this.series) for (const p of s.points) {
      const [x, y] = this.value(p);
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    const pad = (a, b) => (b > a ? 0.04 * (b - a) : Math.max(Math.abs(a), 1) * 0.05);
    const [px, py] = [pad(x0, x1) * 0.4, pad(y0, y1)];
    return { x0: x0 - px, x1: x1 + px, y0: y0 - py, y1: y1 + py };
  }

  get inner() {
    const { width, height } = this.canvas.getBoundingClientRect();
    return { left: 64, top: 10, right: width - 12, bottom: height - 42 };
  }

  // From pixels to values.
  at(event) {
    const box = this.canvas.getBoundingClientRect(), i = this.inner, r = this.range;
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    return {
      px, py,
      x: r.x0 + (px - i.left) / (i.right - i.left) * (r.x1 - r.x0),
      y: r.y1 - (py - i.top) / (i.bottom - i.top) * (r.y1 - r.y0),
    };
  }

  // New points for the same curves; a view that was not zoomed follows them.
  renew(series) {
    const whole = JSON.stringify(this.range) === JSON.stringify(this.all);
    for (const s of this.series) s.points = (series.find(n => n.name === s.name) || s).points;
    this.all = this.extent();
    if (whole) this.range = { ...this.all };
    this.draw();
  }

  zoom(x0, x1, y0, y1) { this.range = { x0, x1, y0, y1 }; this.draw(); }

  listen() {
    const c = this.canvas;
    c.onpointerdown = e => { this.from = this.at(e); c.setPointerCapture(e.pointerId); };
    c.onpointermove = e => { this.over = this.at(e); this.draw(); };
    c.onpointerleave = () => { this.over = null; this.draw(); };
    c.onpointerup = e => {
      const [a, b] = [this.from, this.at(e)];
      this.from = null;
      if (a && Math.abs(a.px - b.px) > 6 && Math.abs(a.py - b.py) > 6) {
        this.zoom(Math.min(a.x, b.x), Math.max(a.x, b.x), Math.min(a.y, b.y), Math.max(a.y, b.y));
      }
    };
    c.ondblclick = () => { this.range = { ...this.all }; this.draw(); };
    c.addEventListener("wheel", e => {
      e.preventDefault();
      const p = this.at(e), f = Math.exp(0.0015 * e.deltaY), r = this.range;
      this.zoom(p.x + f * (r.x0 - p.x), p.x + f * (r.x1 - p.x), p.y + f * (r.y0 - p.y), p.y + f * (r.y1 - p.y));
    }, { passive: false });
  }

  draw() {
    const c = this.canvas, scale = window.devicePixelRatio || 1;
    c.style.height = "300px";
    const { width, height } = c.getBoundingClientRect();
    if (width < 100) return;
    [c.width, c.height] = [width * scale, height * scale];
    const g = c.getContext("2d"), i = this.inner, r = this.range, log = this.options.log;
    g.scale(scale, scale);
    g.font = "12px system-ui, sans-serif";
    const X = x => i.left + (x - r.x0) / (r.x1 - r.x0) * (i.right - i.left);
    const Y = y => i.bottom - (y - r.y0) / (r.y1 - r.y0) * (i.bottom - i.top);
    g.strokeStyle = "#e3e8ee"; g.fillStyle = "#45525f"; g.lineWidth = 1;
    const line = (x0, y0, x1, y1) => { g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); };
    const across = ticks(r.x0, r.x1, false, Math.max(3, width / 90)), up = ticks(r.y0, r.y1, log, 7);
    g.textAlign = "center"; g.textBaseline = "top";
    for (const v of across.found) { line(X(v), i.top, X(v), i.bottom); g.fillText(label(v, across.step, false), X(v), i.bottom + 5); }
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const v of up.found) { line(i.left, Y(v), i.right, Y(v)); g.fillText(label(v, up.step, log), i.left - 6, Y(v)); }
    g.strokeStyle = "#8a97a5";
    g.strokeRect(i.left, i.top, i.right - i.left, i.bottom - i.top);
    g.textAlign = "center"; g.textBaseline = "bottom";
    g.fillText(this.options.x, (i.left + i.right) / 2, height - 4);
    g.save(); g.translate(12, (i.top + i.bottom) / 2); g.rotate(-Math.PI / 2); g.textBaseline = "middle";
    g.fillText(this.options.y, 0, 0); g.restore();
    g.save(); g.beginPath(); g.rect(i.left, i.top, i.right - i.left, i.bottom - i.top); g.clip();
    let near = null;
    for (const s of this.series.filter(s => s.shown)) {
      g.strokeStyle = g.fillStyle = s.color; g.lineWidth = 1.6; g.setLineDash(s.dash || []);
      g.beginPath();
      let pen = false;
      for (const p of s.points) {
        const [x, y] = this.value(p);
        if (!Number.isFinite(x) || !Number.isFinite(y)) { pen = false; continue; }
        const [px, py] = [X(x), Y(y)];
        if (s.dots) { g.moveTo(px + 2.5, py); g.arc(px, py, 2.5, 0, 7); }
        else if (pen) g.lineTo(px, py); else g.moveTo(px, py);
        pen = true;
        const d = this.over ? Math.hypot(px - this.over.px, py - this.over.py) : Infinity;
        if (d < 25 && (!near || d < near.d)) near = { d, px, py, p, s };
      }
      if (s.dots) g.fill(); else g.stroke();
    }
    g.setLineDash([]);
    if (this.from && this.over) {
      g.strokeStyle = "#333"; g.fillStyle = "rgba(0, 114, 178, 0.1)";
      const box = [this.from.px, this.from.py, this.over.px - this.from.px, this.over.py - this.from.py];
      g.fillRect(...box); g.strokeRect(...box);
    }
    g.restore();
    if (near && !this.from) {
      const text = `${near.s.name}: ${near.p[0].toPrecision(5)}, ${near.p[1].toPrecision(6)}`;
      const w = g.measureText(text).width + 12, x = Math.min(near.px + 8, i.right - w), y = Math.max(near.py - 26, i.top);
      g.fillStyle = near.s.color; g.beginPath(); g.arc(near.px, near.py, 4, 0, 7); g.fill();
      g.fillStyle = "rgba(255,255,255,0.93)"; g.fillRect(x, y, w, 20); g.strokeStyle = "#8a97a5"; g.strokeRect(x, y, w, 20);
      g.fillStyle = "#1c2733"; g.textAlign = "left"; g.textBaseline = "middle"; g.fillText(text, x + 6, y + 10);
    }
  }
}
