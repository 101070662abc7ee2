// Vectors, quaternions (scalar first) and matrices (column by column, as WebGL has them).
const V = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  scale: (a, s) => [a[0] * s, a[1] * s, a[2] * s],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  norm: (a) => Math.hypot(a[0], a[1], a[2]),
  unit: (a) => { const n = Math.hypot(a[0], a[1], a[2]) || 1; return [a[0] / n, a[1] / n, a[2] / n]; },
};

const Q = {
  rotate(q, v) {
    const [w, x, y, z] = q;
    const tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
    return [v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx];
  },
  multiply(a, b) {
    return [
      a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
      a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ];
  },
  // The smallest rotation that takes the z axis to a unit vector.
  towards(d) {
    if (d[2] < -0.999999) return [0, 1, 0, 0];
    const w = 1 + d[2], n = Math.hypot(w, d[0], d[1]);
    return [w / n, -d[1] / n, d[0] / n, 0];
  },
};

const M = {
  multiply(a, b) {
    const c = new Float32Array(16);
    for (let j = 0; j < 4; j++) for (let i = 0; i < 4; i++) {
      c[4 * j + i] = a[i] * b[4 * j] + a[4 + i] * b[4 * j + 1] + a[8 + i] * b[4 * j + 2] + a[12 + i] * b[4 * j + 3];
    }
    return c;
  },
  // `aside` moves the middle of the picture to the right, as a part of its half width.
  perspective(fovy, aspect, near, far, aside = 0) {
    const f = 1 / Math.tan(fovy / 2), d = 1 / (near - far);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, -aside, 0, (near + far) * d, -1, 0, 0, 2 * near * far * d, 0]);
  },
  box(r, near, far) {
    const d = 1 / (near - far);
    return new Float32Array([1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, 2 * d, 0, 0, 0, (near + far) * d, 1]);
  },
  look(eye, at, up) {
    const z = V.unit(V.sub(eye, at)), x = V.unit(V.cross(up, z)), y = V.cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0,
      -V.dot(x, eye), -V.dot(y, eye), -V.dot(z, eye), 1]);
  },
  place(x, q, s) {
    const m = new Float32Array(16);
    for (let k = 0; k < 3; k++) {
      const e = Q.rotate(q, [k === 0 ? 1 : 0, k === 1 ? 1 : 0, k === 2 ? 1 : 0]);
      for (let i = 0; i < 3; i++) m[4 * k + i] = e[i] * s[k];
    }
    m[12] = x[0]; m[13] = x[1]; m[14] = x[2]; m[15] = 1;
    return m;
  },
  // Normals turn with the columns over their squared lengths.
  normals(m) {
    const n = new Float32Array(9);
    for (let k = 0; k < 3; k++) {
      const s = m[4 * k] ** 2 + m[4 * k + 1] ** 2 + m[4 * k + 2] ** 2 || 1;
      for (let i = 0; i < 3; i++) n[3 * k + i] = m[4 * k + i] / s;
    }
    return n;
  },
  project(m, p) {
    const w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
    return [(m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12]) / w,
      (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13]) / w, w];
  },
};

// Numbers with SI prefixes: 12.3 kN; units that are no plain ones get powers of ten.
function told(value, unit, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return `0 ${unit}`.trim();
  const size = Math.abs(value);
  if (/^(m|N|Pa|J|N m|s|m\/s|W|Hz|N\/m|J\/m)$/.test(unit)) {
    const step = Math.max(-4, Math.min(4, Math.floor(Math.log10(size * (1 + 1e-12)) / 3)));
    const prefix = ["p", "n", "µ", "m", "", "k", "M", "G", "T"][step + 4];
    if (step !== 0 && !(unit === "s" && step > 0)) return `${plain(value / 1000 ** step, digits)} ${prefix}${unit}`;
  }
  return `${plain(value, digits)} ${unit === "1" ? "" : unit}`.trim();
}

function plain(value, digits = 3) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 1).replace("e+", "e").replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

// Round steps of 1, 2 or 5 times a power of ten.
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough)), f = rough / power;
  return power * (f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10);
}
