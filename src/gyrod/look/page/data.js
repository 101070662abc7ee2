// The scene and its frames: what look/packing.py has packed.
async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text) {
  const raw = atob(text.trim()), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// Tracks by name: {width, rows, values}, one row a frame.
function unpack(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const found = {};
  let at = 4 + size;
  for (const entry of header) {
    const [rows, width] = entry.shape, count = rows * width;
    const length = { f8: 8, f4: 4, fine: 2, coarse: 2, rough: 2 }[entry.kind];
    const planes = bytes.subarray(at, at + length * count);
    at += length * count;
    found[entry.name] = { width, rows, values: decode(entry, planes, rows, width, length) };
  }
  return found;
}

function decode(entry, planes, rows, width, length) {
  const count = rows * width, values = length === 8 ? new Float64Array(count) : new Float32Array(count);
  const bits = new DataView(new ArrayBuffer(8));
  for (let c = 0; c < width; c++) {
    let low = 0, big = 0n;
    for (let r = 0; r < rows; r++) {
      const k = c * rows + r, to = r * width + c;
      if (length === 8) {
        let u = 0n;
        for (let b = 7; b >= 0; b--) u = (u << 8n) | BigInt(planes[b * count + k]);
        big = BigInt.asUintN(64, big + ((u >> 1n) ^ -(u & 1n)));
        bits.setBigUint64(0, big);
        values[to] = bits.getFloat64(0);
        continue;
      }
      let u = planes[k] | (planes[count + k] << 8);
      if (length === 4) u |= (planes[2 * count + k] << 16) | (planes[3 * count + k] << 24);
      low = (low + ((u >>> 1) ^ -(u & 1))) | 0;
      if (length === 2) {
        values[to] = entry.from + entry.step * (low & 0xffff);
      } else {
        bits.setInt32(0, low);
        values[to] = bits.getFloat32(0);
      }
    }
  }
  return values;
}

// All frames that are known so far.
class Frames {
  constructor() { this.tracks = {}; this.count = 0; this.version = 0; }

  clear() { this.tracks = {}; this.count = 0; this.version++; }

  append(chunk) {
    const rows = chunk.t.rows;
    for (const [name, piece] of Object.entries(chunk)) {
      const have = this.tracks[name] || (this.tracks[name] = { width: piece.width, values: new piece.values.constructor(0) });
      const used = this.count * have.width;
      if (have.values.length < used + piece.values.length) {
        const grown = new piece.values.constructor(Math.max(used + piece.values.length, this.count ? 2 * used : 0));
        grown.set(have.values.subarray(0, used));
        have.values = grown;
      }
      have.values.set(piece.values, used);
    }
    this.count += rows;
    this.version++;
    this.start = this.tracks.t.values[0];
    this.end = this.tracks.t.values[this.count - 1];
  }

  // Row before a time, and the fraction to the next one.
  find(time) {
    const t = this.tracks.t.values;
    let lo = 0, hi = this.count - 1;
    if (hi <= 0 || time <= t[0]) return [0, 0];
    if (time >= t[hi]) return [hi - 1, 1];
    while (hi - lo > 1) { const mid = (lo + hi) >> 1; if (t[mid] <= time) lo = mid; else hi = mid; }
    return [lo, (time - t[lo]) / (t[lo + 1] - t[lo])];
  }

  // A track at a time, between its frames; `into` is filled and returned.
  at(name, where, into) {
    const track = this.tracks[name], w = track.width, [row, f] = where;
    const out = into && into.length === w ? into : new Float32Array(w), v = track.values, base = row * w;
    if (f === 0) { for (let i = 0; i < w; i++) out[i] = v[base + i]; return out; }
    for (let i = 0; i < w; i++) out[i] = v[base + i] + f * (v[base + w + i] - v[base + i]);
    return out;
  }

  // Least and largest value of some columns of a track, over all frames.
  range(name, column = 0, columns = 0) {
    const { width, values } = this.tracks[name];
    const many = columns || width;
    let lo = Infinity, hi = -Infinity;
    for (let r = 0; r < this.count; r++) for (let c = column; c < column + many; c++) {
      const x = values[r * width + c];
      if (x < lo) lo = x;
      if (x > hi) hi = x;
    }
    return [lo, hi];
  }
}
