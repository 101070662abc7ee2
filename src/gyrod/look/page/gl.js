// WebGL2: shaders, shapes, tubes.
const SOLID_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in float value;
uniform mat4 model, view, light;
uniform mat3 turn;
out vec3 vNormal, vPlace, vLocal;
out float vValue;
out vec4 vLight;
void main() {
  vLocal = position;
  vec4 place = model * vec4(position, 1.0);
  vPlace = place.xyz;
  vNormal = turn * normal;
  vValue = value;
  vLight = light * place;
  gl_Position = view * place;
}`;

const SHADOW = `
uniform highp sampler2DShadow shadows;
float lit(vec4 at, float bias) {
  vec3 p = at.xyz / at.w * 0.5 + 0.5;
  if (any(greaterThan(abs(p - 0.5), vec3(0.5)))) return 1.0;
  vec2 texel = 1.0 / vec2(textureSize(shadows, 0));
  float sum = 0.0;
  for (int i = -1; i <= 1; i++) for (int j = -1; j <= 1; j++)
    sum += texture(shadows, vec3(p.xy + 1.4 * vec2(i, j) * texel, p.z - bias));
  return sum / 9.0;
}`;

const SOLID_FRAGMENT = `#version 300 es
precision highp float;
in vec3 vNormal, vPlace, vLocal;
in float vValue;
in vec4 vLight;
uniform vec3 eye, sun, color;
uniform float alpha, painted, glow, marked;
uniform sampler2D palette;
out vec4 result;
${SHADOW}
void main() {
  vec3 n = normalize(vNormal);
  vec3 e = normalize(eye - vPlace);
  if (dot(n, e) < 0.0 && !gl_FrontFacing) n = -n;
  vec3 base = painted > 0.5 ? texture(palette, vec2(clamp(vValue, 0.002, 0.998), 0.5)).rgb : color;
  base = pow(base, vec3(2.2));
  // Quarters of round bodies in two tones: a turning wheel is seen to turn.
  vec2 half2 = vLocal.xy / (fwidth(vLocal.xy) + 1e-6);
  float quarter = clamp(half2.x + 0.5, 0.0, 1.0) + clamp(half2.y + 0.5, 0.0, 1.0);
  quarter = abs(quarter - 1.0);
  base *= 1.0 - 0.26 * marked * quarter;
  float shade = alpha < 1.0 ? 1.0 : lit(vLight, 0.0018 + 0.004 * (1.0 - max(dot(n, sun), 0.0)));
  float key = max(dot(n, sun), 0.0) * mix(0.25, 1.0, shade);
  float sky = 0.5 + 0.5 * n.z;
  float front = max(dot(n, e), 0.0);
  vec3 light = vec3(0.78, 0.76, 0.72) * key + mix(vec3(0.17, 0.165, 0.16), vec3(0.38, 0.40, 0.44), sky) + 0.16 * front;
  vec3 h = normalize(sun + e);
  float shine = pow(max(dot(n, h), 0.0), 48.0) * 0.32 * mix(0.2, 1.0, shade);
  float rim = pow(1.0 - front, 4.0) * 0.12;
  vec3 c = base * light + shine + rim + glow * vec3(0.25, 0.35, 0.5);
  result = vec4(pow(c, vec3(1.0 / 2.2)), 1.0) * alpha;
}`;

const DEPTH_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 model, light;
void main() { gl_Position = light * model * vec4(position, 1.0); }`;

const DEPTH_FRAGMENT = `#version 300 es
precision mediump float;
void main() {}`;

const FLOOR_VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
uniform mat4 view, light;
uniform vec3 middle;
uniform float reach;
out vec3 vPlace;
out vec4 vLight;
void main() {
  vPlace = vec3(middle.xy + position.xy * reach, middle.z);
  vLight = light * vec4(vPlace, 1.0);
  gl_Position = view * vec4(vPlace, 1.0);
}`;

const FLOOR_FRAGMENT = `#version 300 es
precision highp float;
in vec3 vPlace;
in vec4 vLight;
uniform vec3 middle, ink;
uniform float reach, cell, drawn, dark, solid;
out vec4 result;
${SHADOW}
float lines(vec2 p, float width) {
  vec2 w = fwidth(p), d = abs(fract(p - 0.5) - 0.5);
  vec2 l = 1.0 - smoothstep(w * width * 0.5, w * (width * 0.5 + 1.0), d);
  l *= clamp(1.4 - 3.0 * w, 0.0, 1.0);
  return max(l.x, l.y);
}
void main() {
  float far = length(vPlace.xy - middle.xy) / reach;
  float fade = 1.0 - smoothstep(0.25, 0.95, far);
  float grid = max(0.20 * lines(vPlace.xy / cell, 0.4), 0.34 * lines(vPlace.xy / (5.0 * cell), 0.6)) * drawn * fade;
  float shadow = (1.0 - lit(vLight, 0.002)) * (dark > 0.5 ? 0.55 : 0.26) * fade;
  float plate = 0.22 * solid * fade;
  float under = plate + shadow * (1.0 - plate), a = grid + under * (1.0 - grid);
  result = vec4(ink * (grid + plate * (1.0 - shadow) * (1.0 - grid)), a);
}`;

const LINE_VERTEX = `#version 300 es
layout(location = 0) in vec3 from;
layout(location = 1) in vec3 to;
uniform mat4 view;
uniform vec2 pixels;
uniform float width, first, count;
out float vAge;
void main() {
  vec4 a = view * vec4(from, 1.0), b = view * vec4(to, 1.0);
  vec2 along = normalize((b.xy / b.w - a.xy / a.w) * pixels + vec2(1e-6, 0.0));
  int corner = gl_VertexID % 6;
  bool end = corner == 1 || corner == 3 || corner == 4;
  float side = (corner == 0 || corner == 1 || corner == 3) ? 1.0 : -1.0;
  vec4 p = end ? b : a;
  p.xy += vec2(-along.y, along.x) * side * width / pixels * p.w;
  vAge = (float(gl_InstanceID) + (end ? 1.0 : 0.0)) / max(count, 1.0);
  gl_Position = p;
}`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
in float vAge;
uniform vec3 color;
uniform float fading, alpha;
out vec4 result;
void main() { float a = alpha * mix(1.0, 0.12 + 0.88 * vAge * vAge, fading); result = vec4(color * a, a); }`;

class Pencil {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, premultipliedAlpha: true, powerPreference: "low-power" });
    if (!gl) throw new Error("no WebGL2");
    this.gl = gl;
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT);
    this.depth = this.program(DEPTH_VERTEX, DEPTH_FRAGMENT);
    this.floor = this.program(FLOOR_VERTEX, FLOOR_FRAGMENT);
    this.line = this.program(LINE_VERTEX, LINE_FRAGMENT);
    this.shapes = { box: boxShape(), sphere: sphereShape(), ball: sphereShape(12, 20), cylinder: latheShape(1), cone: latheShape(0) };
    for (const key of Object.keys(this.shapes)) this.shapes[key] = this.mesh(this.shapes[key]);
    this.square = this.mesh({ vertices: new Float32Array([-1, -1, 0, 0, 0, 1, 0, 1, -1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, -1, 1, 0, 0, 0, 1, 0]),
      faces: new Uint32Array([0, 1, 2, 0, 2, 3]) });
    this.palette = gl.createTexture();
    this.makeShadows(2048);
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const at = {};
    for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
      const name = gl.getActiveUniform(made, i).name;
      at[name] = gl.getUniformLocation(made, name);
    }
    return { made, at };
  }

  makeShadows(size) {
    const gl = this.gl;
    this.shadowSize = size;
    this.shadowMap = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadowMap);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, size, size);
    for (const [key, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL]]) {
      gl.texParameteri(gl.TEXTURE_2D, key, value);
    }
    this.shadowTarget = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowTarget);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadowMap, 0);
    gl.drawBuffers([gl.NONE]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  setPalette(colors) {
    const gl = this.gl;
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, colors.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colors);
    for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, key, gl.LINEAR);
    for (const key of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, key, gl.CLAMP_TO_EDGE);
  }

  // Vertices are position, normal, value: 7 floats each.
  mesh({ vertices, faces }, moving = false) {
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer(), index = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, vertices, moving ? gl.DYNAMIC_DRAW : gl.STATIC_DRAW);
    for (const [at, size, offset] of [[0, 3, 0], [1, 3, 12], [2, 1, 24]]) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, 28, offset);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, index);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, buffer, count: faces.length };
  }

  update(mesh, vertices) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, vertices);
  }

  // Points of a polyline; each pair of neighbours is drawn as a strip of constant width on the screen.
  polyline() {
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    for (const [at, offset] of [[0, 0], [1, 12]]) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 12, offset);
      gl.vertexAttribDivisor(at, 1);
    }
    gl.bindVertexArray(null);
    return { array, buffer, points: 0 };
  }

  setPoints(line, points, count) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, line.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, points, gl.DYNAMIC_DRAW);
    line.points = count;
  }

  // Draw a list of {mesh, model, color, alpha, painted}, their shadows, the floor and lines.
  draw(items, lines, look) {
    const gl = this.gl, one = this.shapes;
    const light = M.multiply(M.box(look.radius * 1.05, 0.1 * look.radius, 6 * look.radius),
      M.look(V.add(look.center, V.scale(look.sun, 3 * look.radius)), look.center, [0.3, 0.9, 0.1]));
    const full = items.filter((x) => !(x.alpha < 1)), thin = items.filter((x) => x.alpha < 1);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowTarget);
    gl.viewport(0, 0, this.shadowSize, this.shadowSize);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.depth.made);
    gl.uniformMatrix4fv(this.depth.at.light, false, light);
    for (const item of full) {
      if (item.shy) continue;
      gl.uniformMatrix4fv(this.depth.at.model, false, item.model);
      const mesh = item.mesh || one[item.kind];
      gl.bindVertexArray(mesh.array);
      gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, look.width, look.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.shadowMap);
    this.solids(full, look, light);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    this.drawFloor(look, light);
    this.drawLines(lines, look);
    gl.enable(gl.CULL_FACE);
    for (const side of [gl.FRONT, gl.BACK]) { gl.cullFace(side); this.solids(thin, look, light); }
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  solids(items, look, light) {
    const gl = this.gl, at = this.solid.at;
    gl.useProgram(this.solid.made);
    gl.uniformMatrix4fv(at.view, false, look.view);
    gl.uniformMatrix4fv(at.light, false, light);
    gl.uniform3fv(at.eye, look.eye);
    gl.uniform3fv(at.sun, look.sun);
    gl.uniform1i(at.shadows, 0);
    gl.uniform1i(at.palette, 1);
    for (const item of items) {
      gl.uniformMatrix4fv(at.model, false, item.model);
      gl.uniformMatrix3fv(at.turn, false, M.normals(item.model));
      gl.uniform3fv(at.color, item.color);
      gl.uniform1f(at.alpha, item.alpha === undefined ? 1 : item.alpha);
      gl.uniform1f(at.painted, item.painted ? 1 : 0);
      gl.uniform1f(at.glow, item.glow || 0);
      gl.uniform1f(at.marked, item.marked ? 1 : 0);
      const mesh = item.mesh || this.shapes[item.kind];
      gl.bindVertexArray(mesh.array);
      gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
    }
  }

  drawFloor(look, light) {
    const gl = this.gl, at = this.floor.at;
    gl.useProgram(this.floor.made);
    gl.uniformMatrix4fv(at.view, false, look.view);
    gl.uniformMatrix4fv(at.light, false, light);
    gl.uniform3fv(at.middle, look.floor);
    gl.uniform3fv(at.ink, look.ink);
    gl.uniform1f(at.reach, 5 * look.radius);
    gl.uniform1f(at.cell, look.cell);
    gl.uniform1f(at.drawn, look.grid ? 1 : 0);
    gl.uniform1f(at.dark, look.dark ? 1 : 0);
    gl.uniform1f(at.solid, look.solid ? 1 : 0);
    gl.uniform1i(at.shadows, 0);
    gl.bindVertexArray(this.square.array);
    gl.drawElements(gl.TRIANGLES, this.square.count, gl.UNSIGNED_INT, 0);
  }

  drawLines(lines, look) {
    const gl = this.gl, at = this.line.at;
    gl.useProgram(this.line.made);
    gl.uniformMatrix4fv(at.view, false, look.view);
    gl.uniform2f(at.pixels, look.width, look.height);
    for (const line of lines) {
      if (line.shown < 2) continue;
      gl.uniform3fv(at.color, line.color);
      gl.uniform1f(at.width, line.width * look.ratio);
      gl.uniform1f(at.fading, line.fading ? 1 : 0);
      gl.uniform1f(at.alpha, line.alpha || 1);
      gl.uniform1f(at.count, line.shown - 1);
      gl.bindVertexArray(line.buffer.array);
      gl.drawArraysInstanced(gl.TRIANGLES, 0, 6, line.shown - 1);
    }
  }
}

// --- shapes of size 1 about the origin -------------------------------------------------------------------------------

function boxShape() {
  const vertices = [], faces = [];
  for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) {
    const base = vertices.length / 7, n = [0, 0, 0];
    n[axis] = side;
    for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
      const p = [0, 0, 0];
      p[axis] = 0.5 * side;
      p[(axis + 1) % 3] = 0.5 * u * side;
      p[(axis + 2) % 3] = 0.5 * v;
      vertices.push(...p, ...n, 0);
    }
    faces.push(base, base + 1, base + 2, base, base + 2, base + 3);
  }
  return { vertices: new Float32Array(vertices), faces: new Uint32Array(faces) };
}

function sphereShape(rings = 24, sides = 40) {
  const vertices = [], faces = [];
  for (let i = 0; i <= rings; i++) for (let j = 0; j <= sides; j++) {
    const a = Math.PI * i / rings, b = 2 * Math.PI * j / sides;
    const n = [Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a)];
    vertices.push(0.5 * n[0], 0.5 * n[1], 0.5 * n[2], ...n, 0);
    if (i < rings && j < sides) {
      const k = i * (sides + 1) + j;
      faces.push(k, k + sides + 1, k + 1, k + 1, k + sides + 1, k + sides + 2);
    }
  }
  return { vertices: new Float32Array(vertices), faces: new Uint32Array(faces) };
}

// A cylinder or a cone along z with two caps; `top` is the radius of the upper end over that of the lower one.
function latheShape(top, sides = 56) {
  const vertices = [], faces = [], slope = 1 - top;
  for (let j = 0; j <= sides; j++) {
    const b = 2 * Math.PI * j / sides, c = Math.cos(b), s = Math.sin(b), n = V.unit([c, s, 0.5 * slope]);
    vertices.push(0.5 * c, 0.5 * s, -0.5, ...n, 0, 0.5 * top * c, 0.5 * top * s, 0.5, ...n, 0);
    if (j < sides) faces.push(2 * j, 2 * j + 2, 2 * j + 1, 2 * j + 1, 2 * j + 2, 2 * j + 3);
  }
  for (const [z, r] of top ? [[-0.5, 0.5], [0.5, 0.5]] : [[-0.5, 0.5]]) {
    const base = vertices.length / 7;
    vertices.push(0, 0, z, 0, 0, Math.sign(z), 0);
    for (let j = 0; j <= sides; j++) {
      const b = 2 * Math.PI * j / sides;
      vertices.push(r * Math.cos(b), r * Math.sin(b), z, 0, 0, Math.sign(z), 0);
      if (j < sides) faces.push(base, base + 1 + j + (z < 0 ? 1 : 0), base + 1 + j + (z < 0 ? 0 : 1));
    }
  }
  return { vertices: new Float32Array(vertices), faces: new Uint32Array(faces) };
}

// Triangles of a file; edges stay sharp where faces meet at more than about 35 degrees.
function fileShape(points, faces) {
  const count = faces.length / 3, flat = new Float32Array(faces.length), sums = new Map();
  const corner = (k) => [points[3 * k], points[3 * k + 1], points[3 * k + 2]];
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map((i) => corner(faces[3 * f + i]));
    flat.set(V.cross(V.sub(b, a), V.sub(c, a)), 3 * f);
  }
  const around = Array.from({ length: points.length / 3 }, () => []);
  for (let i = 0; i < faces.length; i++) around[faces[i]].push(Math.floor(i / 3));
  const vertices = new Float32Array(7 * faces.length), index = new Uint32Array(faces.length);
  for (let i = 0; i < faces.length; i++) {
    const own = V.unit(flat.subarray(3 * Math.floor(i / 3), 3 * Math.floor(i / 3) + 3));
    let n = [0, 0, 0];
    for (const f of around[faces[i]].slice(0, 64)) {
      const other = flat.subarray(3 * f, 3 * f + 3);
      if (V.dot(V.unit(other), own) > 0.82) n = V.add(n, other);
    }
    vertices.set([...corner(faces[i]), ...V.unit(n), 0], 7 * i);
    index[i] = i;
  }
  return { vertices, faces: index };
}

// --- tubes -----------------------------------------------------------------------------------------------------------

// A tube along a smooth curve through points, round or with edges, closed at both ends.
class Tube {
  constructor(pencil, points, round, refine = 0) {
    this.pencil = pencil;
    this.points = points;
    this.parts = refine || Math.max(1, Math.min(8, Math.ceil(160 / Math.max(points - 1, 1))));
    this.rings = (points - 1) * this.parts + 1;
    this.round = round;
    this.sides = round ? (this.rings > 2000 ? 8 : 14) : 8;
    this.vertices = new Float32Array(7 * this.sides * (this.rings + 2));
    const faces = [], s = this.sides, last = this.rings - 1;
    for (let i = 0; i < last; i++) for (let j = 0; j < s; j += round ? 1 : 2) {
      const a = i * s + j, b = i * s + (j + 1) % s;
      faces.push(a, b, a + s, b, b + s, a + s);
    }
    for (const ring of [this.rings, this.rings + 1]) {
      for (let j = 1; j < s - 1; j++) faces.push(ring * s, ring * s + j, ring * s + j + 1);
    }
    this.mesh = pencil.mesh({ vertices: this.vertices, faces: new Uint32Array(faces) }, true);
    this.center = new Float32Array(3 * this.rings);
  }

  // x: points (3 each), half: [a, b] or one pair a point, value: one a point in [0, 1] or null, p: frames or null.
  shape(x, half, value, p, scale) {
    const { parts, rings, points, center } = this;
    for (let i = 0; i < rings; i++) {
      const k = Math.min(Math.floor(i / parts), points - 2), f = i / parts - k;
      const f2 = f * f, f3 = f2 * f;
      for (let c = 0; c < 3; c++) {
        const b = x[3 * k + c], d = x[3 * k + 3 + c];
        const a = k > 0 ? x[3 * k - 3 + c] : 2 * b - d, e = k < points - 2 ? x[3 * k + 6 + c] : 2 * d - b;
        center[3 * i + c] = 0.5 * (2 * b + (d - a) * f + (2 * a - 5 * b + 4 * d - e) * f2 + (3 * b - a - 3 * d + e) * f3);
      }
    }
    let d1 = null;
    for (let i = 0; i < rings; i++) {
      const k = Math.min(Math.floor(i / parts), points - 2), f = i / parts - k;
      const from = Math.max(i - 1, 0), to = Math.min(i + 1, rings - 1);
      const t = V.unit([0, 1, 2].map((c) => center[3 * to + c] - center[3 * from + c]));
      if (this.round || !p) {
        if (!d1) d1 = Math.abs(t[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
        d1 = V.unit(V.sub(d1, V.scale(t, V.dot(d1, t))));
      } else {
        d1 = Q.rotate(mixed(p, 4 * k, f), [1, 0, 0]);
        d1 = V.unit(V.sub(d1, V.scale(t, V.dot(d1, t))));
      }
      const d2 = V.cross(t, d1);
      const h = half.length === 1 ? half[0] : [0, 1].map((c) => half[k][c] + f * (half[k + 1][c] - half[k][c]));
      const v = value ? value[k] + f * (value[k + 1] - value[k]) : 0;
      this.ring(i, i, d1, d2, null, h, v, scale);
      if (i === 0) this.ring(rings, i, d1, d2, V.scale(t, -1), h, v, scale);
      if (i === rings - 1) this.ring(rings + 1, i, d1, d2, t, h, v, scale);
    }
    this.pencil.update(this.mesh, this.vertices);
  }

  ring(row, i, d1, d2, normal, half, value, scale) {
    const s = this.sides, out = this.vertices, x = this.center;
    for (let j = 0; j < s; j++) {
      let u, v, n1, n2;
      if (this.round) {
        n1 = Math.cos(2 * Math.PI * j / s); n2 = Math.sin(2 * Math.PI * j / s);
        u = n1 * half[0]; v = n2 * half[0];
      } else { // four sides with two vertices each
        const side = j >> 1, corner = (side + (j & 1)) & 3;
        [n1, n2] = [[1, 0], [0, 1], [-1, 0], [0, -1]][side];
        const [cu, cv] = [[1, -1], [1, 1], [-1, 1], [-1, -1]][corner];
        u = cu * half[0]; v = cv * half[1];
      }
      const at = 7 * (row * s + j);
      for (let c = 0; c < 3; c++) {
        out[at + c] = x[3 * i + c] + scale * (u * d1[c] + v * d2[c]);
        out[at + 3 + c] = normal ? normal[c] : n1 * d1[c] + n2 * d2[c];
      }
      out[at + 6] = value;
    }
  }
}

// A quaternion between two neighbours in an array.
function mixed(p, at, f) {
  let dot = 0;
  for (let c = 0; c < 4; c++) dot += p[at + c] * p[at + 4 + c];
  const s = dot < 0 ? -f : f, q = [0, 0, 0, 0];
  for (let c = 0; c < 4; c++) q[c] = (1 - f) * p[at + c] + s * p[at + 4 + c];
  const n = Math.hypot(...q) || 1;
  return q.map((x) => x / n);
}
