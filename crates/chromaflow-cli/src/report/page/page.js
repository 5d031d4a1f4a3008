// The page of one run, or of several side by side, from the files that it carries.
const runs = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const several = runs.length > 1;

const section = (title, ...children) => { if (children.length) main.append(element("h2", {}, title), ...children); };
const row = children => element("div", { class: "row" }, ...children);
const number = (v, digits = 5) => v === null || v === undefined ? "" : typeof v === "number" ? (Number.isInteger(v) ? v.toLocaleString("en") : v.toPrecision(digits)) : String(v);

function seconds(s) {
  if (s === undefined || s === null) return "";
  if (s < 1) return `${(1000 * s).toFixed(0)} ms`;
  if (s < 60) return `${s.toFixed(1)} s`;
  const whole = Math.round(s), two = n => String(n).padStart(2, "0");
  return s < 3600 ? `${Math.floor(whole / 60)}:${two(whole % 60)}` : `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

function csv(text) {
  const lines = text.trim().split("\n"), names = lines[0].split(",");
  const rows = lines.slice(1).map(line => line.split(",").map(cell => cell === "" ? NaN : Number.isNaN(+cell) ? cell : +cell));
  return { names, rows, column: name => names.indexOf(name) };
}

// A table with a column for each run: entries are [name, value of a run].
function table(entries) {
  const body = element("tbody");
  for (const [name, value] of entries) {
    const cells = runs.map(value);
    if (cells.every(c => c === "" || c === null || c === undefined)) continue;
    const different = several && new Set(cells.map(String)).size > 1;
    body.append(element("tr", {}, element("th", {}, name), ...cells.map(c => element("td", {}, different ? element("b", {}, c ?? "") : c ?? ""))));
  }
  const head = several ? [element("thead", {}, element("tr", {}, element("th"), ...runs.map(r => element("th", {}, r.name))))] : [];
  return element("table", {}, ...head, body);
}

const named = (run, name) => several ? `${run.name}: ${name}` : name;

// The rows of a history that are drawn: in unsteady runs the last one of each time step.
function drawn(history) {
  const step = history.column("time_step"), iteration = history.column("iteration");
  const unsteady = history.rows.some(r => r[step] > 0);
  const rows = unsteady ? history.rows.filter((r, i) => i + 1 === history.rows.length || history.rows[i + 1][step] !== r[step]) : history.rows;
  return { rows, at: unsteady ? step : iteration, x: unsteady ? "time step" : "iteration" };
}

function histories() {
  const residuals = [], forces = [], cfl = [], linear = [];
  let x = "iteration";
  runs.forEach((run, k) => {
    const history = csv(run.history), d = drawn(history);
    x = d.x;
    const dash = k ? [5, 3 * k] : [];
    const series = (name, column, positive) => ({
      name: named(run, name), dash,
      points: d.rows.map(r => [r[d.at], r[column]]).filter(p => Number.isFinite(p[1]) && (!positive || p[1] > 0)),
    });
    history.names.forEach((name, c) => {
      if (name.startsWith("residual_")) residuals.push(series(name.slice(9).replaceAll("_", " "), c, true));
    });
    for (const name of ["cl", "cd", "cm"]) forces.push(series(name.toUpperCase(), history.column(name)));
    const loads = run.loads && csv(run.loads);
    if (loads && loads.names.length > 5) {
      loads.names.slice(2).forEach((name, c) => {
        if (!name.endsWith(" cm")) forces.push({ ...series(name, 0), points: loads.rows.map(r => [r[d.at], r[c + 2]]) });
      });
    }
    cfl.push(series("CFL number", history.column("cfl"), true));
    linear.push(series("linear systems", history.column("linear_reduction"), true));
  });
  const plot = (title, y, log, series) => new Plot(title, { x, y, log }, series).figure;
  const found = [plot("Convergence", "residual (rms)", true, residuals), plot("Forces", "coefficient", false, forces), plot("CFL number", "CFL", true, cfl)];
  if (linear.some(s => s.points.length)) found.push(plot("Reduction of the linear residual", "|b - A x| / |b|", true, linear));
  return found;
}

function cuts() {
  const names = [...new Set(runs.flatMap(r => Object.keys(r.cuts)))].sort();
  return names.map(name => {
    const series = [];
    let axis = "x";
    runs.forEach((run, k) => {
      if (!run.cuts[name]) return;
      const cut = csv(run.cuts[name]), [c, side, curve, marker] = ["cp", "side", "curve", "marker"].map(n => cut.column(n));
      const size = d => { const v = cut.rows.map(r => r[d]); return Math.max(...v) - Math.min(...v); };
      const widest = [0, 1, 2].reduce((a, b) => (size(b) > size(a) ? b : a));
      const along = size(0) > 1e-9 * size(widest) ? 0 : widest;
      axis = cut.names[along];
      const markers = new Set(cut.rows.map(r => r[marker]));
      const curves = new Map();
      for (const r of cut.rows) {
        if (!curves.has(r[curve])) {
          const where = r[side] > 0 ? "upper side" : "lower side";
          curves.set(r[curve], { name: named(run, markers.size > 1 ? `${r[marker]}, ${where}` : where), points: [], dash: k ? [5, 3 * k] : [] });
        }
        curves.get(r[curve]).points.push([r[along], -r[c]]);
      }
      series.push(...curves.values());
    });
    for (const run of runs) if (run.compare) series.push({ name: "compared with", points: run.compare.map(p => [p[0], -p[1]]), dots: true, color: "#111" });
    const place = name === "cut_wall" ? "along the walls" : name.replace("cut_", "").replace("_", " = ");
    return new Plot(`Pressure coefficient, ${place}`, { x: axis, y: "-Cp" }, series).figure;
  });
}

function conditions() {
  const keys = [...new Set(runs.flatMap(r => Object.keys(r.summary.conditions || {})))].filter(k => k !== "boundary");
  const entries = keys.map(key => [key.replaceAll("_", " "), r => number((r.summary.conditions || {})[key], 7)]);
  const markers = [...new Set(runs.flatMap(r => Object.keys((r.summary.conditions || {}).boundary || {})))];
  return table([...entries, ...markers.map(m => [`marker ${m}`, r => ((r.summary.conditions || {}).boundary || {})[m]])]);
}

function mesh() {
  const of = key => r => number((r.summary.mesh || {})[key]);
  const quality = (key, part) => r => number((((r.summary.mesh || {}).quality || {})[key] || {})[part], 4);
  return table([
    ["file", r => (r.summary.mesh || {}).file],
    ["nodes", r => number((r.summary.mesh || {}).nodes_2d || (r.summary.mesh || {}).nodes)],
    ...["tets", "pyramids", "prisms", "hexes", "cells"].map(k => [k, r => (r.summary.mesh || {})[k] ? of(k)(r) : ""]),
    ["smallest scaled Jacobian", quality("scaled_jacobian", "min")], ["mean scaled Jacobian", quality("scaled_jacobian", "mean")],
    ["largest aspect ratio", quality("aspect_ratio", "max")], ["mean aspect ratio", quality("aspect_ratio", "mean")],
  ]);
}

// Lift, drag and moment of every wall and of all, a row each.
function forces() {
  const body = element("tbody");
  const line = (name, coefficients) => {
    const cells = coefficients.flatMap(c => ["cl", "cd", "cm"].map(k => element("td", { class: "n" }, c ? number(c[k], 6) : "")));
    if (coefficients.some(c => c)) body.append(element("tr", {}, element("th", {}, name), ...cells));
  };
  const all = runs.map(r => r.summary.forces);
  for (const m of new Set(all.flatMap(f => Object.keys(f.markers)))) {
    const part = name => all.map(f => (f.markers[m] || {})[name]);
    line(`${m}, pressure`, part("pressure"));
    line(`${m}, friction`, part("viscous").map(v => v && v.force.some(x => x) ? v : null));
  }
  line("total", all);
  const names = runs.flatMap(r => ["CL", "CD", "CM"].map(c => element("th", { class: "n" }, several ? `${r.name} ${c}` : c)));
  return element("table", {}, element("thead", {}, element("tr", {}, element("th"), ...names)), body);
}

function times() {
  return row(runs.map(run => {
    const { components, march_s, total_s, per_iteration_s } = run.summary.time;
    const body = element("tbody");
    for (const [name, s] of Object.entries(components).sort((a, b) => b[1] - a[1])) {
      const bar = element("div", { class: "bar" });
      bar.style.width = `${12 * s / march_s}em`;
      body.append(element("tr", {}, element("th", {}, name), element("td", { class: "n" }, s.toFixed(3) + " s"), element("td", { class: "n" }, (100 * s / march_s).toFixed(1) + " %"), element("td", {}, bar)));
    }
    const text = `${several ? run.name + ": " : ""}${seconds(march_s)} for the march, ${seconds(per_iteration_s)} an iteration, ${seconds(total_s)} in all`;
    return element("div", {}, element("p", {}, text), element("table", {}, body));
  }));
}

function cite() {
  const list = element("ul");
  const texts = new Map(runs.flatMap(r => (r.summary.references || []).map(f => [f.text, f.for])));
  for (const [text, what] of texts) list.append(element("li", {}, `${what}: ${text}`));
  return list;
}

async function views() {
  const found = [];
  for (const run of runs) {
    if (!run.field) continue;
    const bytes = Uint8Array.from(atob(run.field.data), c => c.charCodeAt(0));
    const arrays = await readVtu(bytes);
    const walls = new Set(run.field.walls);
    const corners = (walls.size && triangles(arrays, m => walls.has(m))) || triangles(arrays, () => true);
    if (!corners) continue;
    let flat = null;
    if (run.field.flat) {
      const wall = run.cuts.cut_wall && csv(run.cuts.cut_wall).rows;
      const span = d => { const v = wall.map(r => r[d]); return [Math.min(...v), Math.max(...v)]; };
      const [x, y] = wall ? [span(0), span(1)] : [[0, 1], [0, 1]];
      flat = wall ? { center: [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2, 0], size: Math.max(x[1] - x[0], y[1] - y[0]) } : {};
    }
    found.push(new View(several ? run.name : run.field.flat ? "Field" : "Surface", arrays, corners, flat));
    document.body.dataset.triangles = Number(document.body.dataset.triangles || 0) + corners.length / 3;
  }
  return found;
}

async function build() {
  const first = runs[0].summary;
  const title = several ? runs.map(r => r.name).join(" / ") : first.title || runs[0].name;
  document.title = title;
  document.getElementById("title").textContent = title;
  document.getElementById("subtitle").textContent = several ? "two runs side by side" : `Chromaflow ${first.versions.chromaflow}, case ${first.case}`;
  for (const run of runs) {
    const s = run.summary;
    const card = (value, name, bad) => element("div", { class: bad ? "card bad" : "card" }, element("b", {}, value), element("span", {}, name));
    main.append(element("div", { class: "cards" }, ...(several ? [card(run.name, s.title || "run")] : []),
      card(s.outcome, `after ${s.iterations} iterations`, s.outcome !== "converged" && !s.time_steps),
      card(number(s.residual_orders, 3), "orders of the residual"), card(number(s.forces.cl, 6), "CL"), card(number(s.forces.cd, 5), "CD"),
      card(number(s.forces.cm, 5), "CM"), card(seconds(s.time.total_s), s.solver.gpu || `${s.solver.threads} thread${s.solver.threads === 1 ? "" : "s"}`)));
    const trouble = s.trouble && s.trouble.hints || [];
    if (trouble.length) main.append(element("p", {}, "To try: " + trouble.join("; ")));
  }
  const shown = await views();
  if (shown.length) section(shown.some(v => v.flat) ? "Field" : "Surface", row(shown.map(v => v.figure)));
  section("Convergence and forces", row(histories()));
  const sections = cuts();
  if (sections.length) section("Pressure along cuts", row(sections));
  section("Forces", forces());
  section("Conditions and mesh", row([conditions(), mesh()]));
  section("Where the time went", times());
  section("How to cite", cite());
  document.body.dataset.plots = document.querySelectorAll("canvas.plot").length;
  document.body.dataset.state = "ready";
}

build().catch(error => {
  document.body.dataset.state = "failed";
  main.prepend(element("pre", {}, "This page could not be built: " + error.stack));
});
