// A surface or a plane field colored by a value, in WebGL: drag to turn, drag with shift to move, wheel to zoom.
const MAP = [[59, 76, 192], [98, 130, 234], [141, 176, 254], [184, 208, 249], [221, 221, 221], [245, 196, 173], [244, 154, 123], [222, 96, 77], [180, 4, 38]];

const VERTEX = `
attribute vec3 at; attribute vec3 normal; attribute float value;
uniform mat4 turn; uniform vec4 frame; uniform vec2 range; uniform vec3 eye;
varying float shade; varying float t;
void main() {
  shade = dot(normal, normal) > 0.0 ? 0.55 + 0.45 * abs(dot(normalize(normal), eye)) : 1.0;
  t = clamp((value - range.x) / (range.y - range.x), 0.0, 1.0);
  gl_Position = turn * vec4((at - frame.xyz) * frame.w, 1.0);
}`;

const PIXEL = `
precision mediump float;
varying float shade; varying float t;
uniform vec3 map[9];
void main() {
  float s = t * 8.0;
  vec3 color = map[0];
  for (int i = 0; i < 8; i++) {
    float f = clamp(s - float(i), 0.0, 1.0);
    color = mix(color, map[i + 1], f);
  }
  gl_FragColor = vec4(color * shade, 1.0);
}`;

class View {
  constructor(title, arrays, corners, flat) {
    Object.assign(this, { arrays, corners, flat, zoom: flat ? 1.25 : 1.7, shift: [0, 0], angles: flat ? [Math.PI / 2, 0] : [0.7, 0.5] });
    this.canvas = element("canvas", { class: "view" });
    this.fields = Object.keys(arrays).filter(name => {
      const a = arrays[name];
      return a.components === 1 && a.values instanceof Float32Array;
    });
    const pick = element("select", {}, ...this.fields.map(name => element("option", { value: name }, name)));
    this.field = this.fields.includes("cp") ? "cp" : this.fields[0];
    pick.value = this.field;
    pick.onchange = () => { this.field = pick.value; this.color(); this.draw(); };
    this.scale = element("div", { class: "scale" });
    const hint = element("small", {}, "drag: turn, shift: move, wheel: zoom");
    this.figure = element("figure", {}, element("figcaption", {}, title, hint), this.canvas, this.scale, pick);
    this.painted = 0;
    this.gl = this.canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
    if (!this.gl || !this.gl.getExtension("OES_element_index_uint")) {
      this.canvas.replaceWith(element("p", {}, "This browser has no WebGL: no picture of the surface."));
      this.gl = null;
      return;
    }
    this.build();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  build() {
    const gl = this.gl, points = this.arrays.Points.values, count = points.length / 3;
    const shader = (kind, text) => { const s = gl.createShader(kind); gl.shaderSource(s, text); gl.compileShader(s); return s; };
    const program = this.program = gl.createProgram();
    gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, PIXEL));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], normals = new Float32Array(3 * count);
    const used = new Uint8Array(count);
    for (let c = 0; c < this.corners.length; c += 3) {
      const n = [0, 1, 2].map(k => this.corners[c + k]), p = n.map(i => [0, 1, 2].map(k => points[3 * i + k]));
      const u = [0, 1, 2].map(k => p[1][k] - p[0][k]), v = [0, 1, 2].map(k => p[2][k] - p[0][k]);
      const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
      for (const i of n) { used[i] = 1; for (let k = 0; k < 3; k++) normals[3 * i + k] += normal[k]; }
    }
    for (let i = 0; i < count; i++) if (used[i]) for (let k = 0; k < 3; k++) {
      low[k] = Math.min(low[k], points[3 * i + k]); high[k] = Math.max(high[k], points[3 * i + k]);
    }
    if (this.flat) [low[2], high[2]] = [0, 0];
    const size = Math.max(...[0, 1, 2].map(k => high[k] - low[k]));
    // The body stands in the middle of a plane field: look there.
    this.center = low.map((v, k) => 0.5 * (v + high[k]));
    if (this.flat && this.flat.center) { this.center = this.flat.center; this.zoom = 0.8 * size / this.flat.size; }
    this.unit = 1 / size;
    this.used = used;
    const attribute = (name, data, n) => {
      const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, n, gl.FLOAT, false, 0, 0);
      return buffer;
    };
    attribute("at", Float32Array.from(points), 3);
    attribute("normal", this.flat ? new Float32Array(3 * count) : normals, 3);
    this.values = attribute("value", new Float32Array(count), 1);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, this.corners, gl.STATIC_DRAW);
    gl.uniform3fv(gl.getUniformLocation(program, "map"), MAP.flat().map(v => v / 255));
    gl.enable(gl.DEPTH_TEST);
    this.color();
  }

  color() {
    const gl = this.gl, values = this.arrays[this.field].values;
    const seen = Array.from(values).filter((v, i) => this.used[i] && Number.isFinite(v)).sort((a, b) => a - b);
    // All but the outermost half percent on each side.
    const at = share => seen[Math.min(seen.length - 1, Math.floor(share * seen.length))];
    this.range = [at(0.005), at(0.995)];
    if (!(this.range[1] > this.range[0])) this.range = [this.range[0] - 0.5, this.range[0] + 0.5];
    gl.bindBuffer(gl.ARRAY_BUFFER, this.values);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const bar = element("i");
    bar.style.background = `linear-gradient(90deg, ${MAP.map(c => `rgb(${c})`).join(",")})`;
    this.scale.replaceChildren(`${this.field}  ${this.range[0].toPrecision(3)}`, bar, this.range[1].toPrecision(3));
  }

  listen() {
    const c = this.canvas;
    c.onpointerdown = e => { this.hold = [e.clientX, e.clientY]; c.setPointerCapture(e.pointerId); };
    c.onpointerup = () => { this.hold = null; };
    c.onpointermove = e => {
      if (!this.hold) return;
      const [dx, dy] = [e.clientX - this.hold[0], e.clientY - this.hold[1]];
      this.hold = [e.clientX, e.clientY];
      if (this.flat || e.shiftKey) {
        this.shift[0] += 2 * dx / c.clientHeight; this.shift[1] -= 2 * dy / c.clientHeight;
      } else {
        this.angles[0] += 0.01 * dy; this.angles[1] += 0.01 * dx;
      }
      this.draw();
    };
    c.addEventListener("wheel", e => { e.preventDefault(); this.zoom *= Math.exp(-0.0015 * e.deltaY); this.draw(); }, { passive: false });
  }

  draw() {
    const gl = this.gl, c = this.canvas, scale = window.devicePixelRatio || 1;
    if (!gl || c.clientWidth < 50) return;
    [c.width, c.height] = [c.clientWidth * scale, c.clientHeight * scale];
    gl.viewport(0, 0, c.width, c.height);
    gl.clearColor(1, 1, 1, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const [ce, se, cb, sb] = [Math.cos(this.angles[0]), Math.sin(this.angles[0]), Math.cos(this.angles[1]), Math.sin(this.angles[1])];
    const z = this.zoom, w = z * c.height / c.width, d = 0.4;
    // Turned about the z axis, then tilted towards the viewer; columns for x, y, z.
    const turn = [
      w * cb, z * se * sb, d * ce * sb, 0,
      -w * sb, z * se * cb, d * ce * cb, 0,
      0, z * ce, -d * se, 0,
      this.shift[0] * c.height / c.width, this.shift[1], 0, 1,
    ];
    const uniform = name => gl.getUniformLocation(this.program, name);
    gl.uniformMatrix4fv(uniform("turn"), false, turn);
    gl.uniform4f(uniform("frame"), ...this.center, this.unit);
    gl.uniform2f(uniform("range"), ...this.range);
    gl.uniform3f(uniform("eye"), -ce * sb, -ce * cb, se);
    gl.drawElements(gl.TRIANGLES, this.corners.length, gl.UNSIGNED_INT, 0);
    if (this.painted === 0) this.count();
  }

  // Pixels that show something, for tests.
  count() {
    const gl = this.gl, { width, height } = this.canvas, pixels = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i] + pixels[i + 1] + pixels[i + 2] < 760) this.painted++;
    document.body.dataset.painted = Math.max(this.painted, document.body.dataset.painted || 0);
  }
}
