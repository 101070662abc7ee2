// What stands in the scene at a moment, as a list of things to draw.
const RAMP = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const SIGNED = ["#1f5aa8", "#5a9bd0", "#b5cfe4", "#dcdcdc", "#f0bfa3", "#e07a52", "#a81f2b"];
const ARROWS = { force: "#d1352b", torque: "#8e44ad", reaction: "#0f9d7a", contact: "#e08a1e", "force per length": "#e0655b", "torque per length": "#a86cc4" };
const STEEL = [0.42, 0.46, 0.51], BRASS = [0.79, 0.66, 0.30], STONE = [0.55, 0.58, 0.62];

function rgb(text) { return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255); }

function rampColors(stops, count = 256) {
  const found = new Uint8Array(4 * count), colors = stops.map(rgb);
  for (let i = 0; i < count; i++) {
    const x = i / (count - 1) * (colors.length - 1), k = Math.min(Math.floor(x), colors.length - 2), f = x - k;
    for (let c = 0; c < 3; c++) found[4 * i + c] = Math.round(255 * (colors[k][c] + f * (colors[k + 1][c] - colors[k][c])));
    found[4 * i + 3] = 255;
  }
  return found;
}

class World {
  constructor(scene, frames) {
    this.scene = scene;
    this.frames = frames;
    this.rods = scene.rods.map(() => ({}));
    this.bodies = scene.bodies.map(() => ({ x: [0, 0, 0], p: [1, 0, 0, 0] }));
    scene.bodies.forEach((body) => { body.rgb = rgb(body.color); });
    scene.rods.forEach((rod) => { rod.rgb = rgb(rod.color); });
    this.measure();
  }

  // The box of everything that moves, over all frames.
  measure() {
    const lo = [Infinity, Infinity, Infinity], hi = [-Infinity, -Infinity, -Infinity];
    const take = (p, r = 0) => { for (let c = 0; c < 3; c++) { lo[c] = Math.min(lo[c], p[c] - r); hi[c] = Math.max(hi[c], p[c] + r); } };
    const { frames, scene } = this;
    scene.bodies.forEach((body, i) => {
      const reach = Math.max(0, ...body.parts.map((part) => this.reach(part)));
      for (let c = 0; c < 3; c++) {
        const [a, b] = frames.range("x", 3 * i + c, 1);
        lo[c] = Math.min(lo[c], a - reach); hi[c] = Math.max(hi[c], b + reach);
      }
      body.reach = reach;
    });
    scene.rods.forEach((rod, i) => {
      const { width, values } = frames.tracks[`rod${i}.x`];
      for (let k = 0; k < frames.count * width; k += 3) take([values[k], values[k + 1], values[k + 2]]);
    });
    for (const joint of scene.joints) if (!("body" in joint.anchor) && !("rod" in joint.anchor)) take(joint.anchor.at);
    for (const line of scene.lines) for (const p of line.points) if (!("body" in p) && !("rod" in p)) take(p.at);
    for (const o of scene.obstacles) {
      if (o.kind === "sphere") take(o.point, o.radius);
      if (o.kind !== "mesh") continue;
      o.corners = new Float32Array(fromBase64(o.vertices).buffer);
      for (let k = 0; k < o.corners.length; k += 3) take(o.corners.subarray(k, k + 3));
    }
    const center = V.scale(V.add(lo, hi), 0.5), span = V.sub(hi, lo);
    this.size = Math.max(...span, 1e-9);
    for (const o of scene.obstacles) {
      if (o.kind !== "cylinder") continue;
      const near = V.add(o.point, V.scale(o.direction, V.dot(V.sub(center, o.point), o.direction)));
      for (let c = 0; c < 3; c++) {
        const across = o.radius * Math.sqrt(Math.max(0, 1 - o.direction[c] ** 2));
        if (Math.abs(near[c] - center[c]) < span[c] + 2 * this.size) { lo[c] = Math.min(lo[c], near[c] - across); hi[c] = Math.max(hi[c], near[c] + across); }
      }
    }
    this.lo = lo; this.hi = hi;
    this.center = V.scale(V.add(lo, hi), 0.5);
    this.radius = 0.5 * V.norm(V.sub(hi, lo)) || 1e-9;
    this.size = Math.max(...V.sub(hi, lo), 1e-9);
    const planes = scene.obstacles.filter((o) => o.kind === "plane" && o.direction[2] > 0.999 && o.point[2] <= hi[2]);
    this.floor = planes.length ? Math.max(...planes.map((o) => o.point[2])) : lo[2] - 0.02 * this.size;
    this.solid = planes.length > 0;
    this.planes = scene.obstacles.filter((o) => o.kind === "plane" && !planes.includes(o));
    // Rods that would be thinner than this on the screen are drawn thicker, and the page says so.
    let thickest = 0;
    for (const rod of scene.rods) for (const [a, b] of rod.half) thickest = Math.max(thickest, a, b);
    const wanted = 0.0042 * this.size;
    this.thick = thickest > 0 && thickest < wanted ? wanted / thickest : 1;
    this.slim = Math.max(0.0032 * this.size, 0.35 * Math.min(thickest * this.thick, 0.012 * this.size));
    this.knob = Math.max(0.0085 * this.size, Math.min(1.25 * thickest * this.thick, 0.02 * this.size));
    const reaches = scene.bodies.filter((body) => !body.hidden).map((body) => body.reach).sort((a, b) => a - b);
    if (reaches.length) this.knob = Math.max(0.0015 * this.size, Math.min(this.knob, 0.3 * reaches[reaches.length >> 1]));
    // Arrows of a group have one scale; its spikes are cut off, so that the rest can be seen.
    const sizes = {};
    scene.arrows.forEach((arrow, i) => {
      const { width, values } = frames.tracks.arrows, key = `${arrow.group}|${arrow.unit}`;
      const all = sizes[key] || (sizes[key] = []);
      for (let r = 0; r < frames.count; r++) all.push(Math.hypot(values[r * width + 3 * i], values[r * width + 3 * i + 1], values[r * width + 3 * i + 2]));
    });
    this.arrowScale = {};
    for (const [key, all] of Object.entries(sizes)) {
      all.sort((a, b) => a - b);
      const most = all[all.length - 1], usual = all[Math.floor(0.96 * (all.length - 1))], cut = all.length > 50 && usual > 0 && most > 1.5 * usual;
      this.arrowScale[key] = { most: cut ? usual : most, cut };
    }
  }

  reach(part) {
    if (part.kind !== "mesh") return Math.hypot(...part.at) + 0.5 * Math.hypot(...part.size);
    const v = new Float32Array(fromBase64(part.vertices).buffer);
    let most = 0;
    for (let i = 0; i < v.length; i += 3) most = Math.max(most, Math.hypot(v[i], v[i + 1], v[i + 2]));
    return Math.hypot(...part.at) + most;
  }

  // Range of a quantity over all rods and frames; spikes of less than two percent of the values are cut off.
  fieldRange(key) {
    let all = [];
    const { signed, inverse } = this.scene.fields[key];
    let lo = Infinity, hi = -Infinity;
    this.scene.rods.forEach((rod, i) => {
      if (!rod.fields.includes(key)) return;
      const { width, values } = this.frames.tracks[`rod${i}.${key}`];
      const count = this.frames.count * width, stride = Math.max(1, Math.floor(count / 20000));
      for (let k = 0; k < count; k++) {
        const x = signed ? Math.abs(values[k]) : values[k];
        lo = Math.min(lo, x); hi = Math.max(hi, x);
        if (k % stride === 0) all.push(x);
      }
    });
    if (!all.length) return null;
    if (inverse) return { lo, hi, cut: true };
    all = Float32Array.from(all).sort();
    const high = all[Math.floor(0.98 * (all.length - 1))];
    const cut = all.length > 50 && high > 0 && hi > 1.5 * high;
    const top = (cut ? high : hi) || 1e-30;
    return signed ? { lo: -top, hi: top, cut } : { lo: Math.min(lo, 0) === lo ? lo : lo < 0.3 * top ? 0 : lo, hi: top, cut };
  }

  // Everything at a time.
  move(time, field, range) {
    const { frames, scene } = this, where = frames.find(time);
    this.where = where;
    if (scene.bodies.length) {
      this.x = frames.at("x", where, this.x);
      const { width, values } = frames.tracks.p, [row, f] = where;
      scene.bodies.forEach((_, i) => {
        this.bodies[i].x = [this.x[3 * i], this.x[3 * i + 1], this.x[3 * i + 2]];
        const a = values.subarray(row * width + 4 * i, row * width + 4 * i + 4);
        const b = f ? values.subarray((row + 1) * width + 4 * i, (row + 1) * width + 4 * i + 4) : a;
        this.bodies[i].p = mixed([...a, ...b], 0, f);
      });
    }
    scene.rods.forEach((rod, i) => {
      const state = this.rods[i];
      state.x = frames.at(`rod${i}.x`, where, state.x);
      state.p = frames.at(`rod${i}.p`, where, state.p);
      state.value = null;
      if (field && rod.fields.includes(field) && range) {
        state.scaled = frames.at(`rod${i}.${field}`, where, state.scaled);
        for (let k = 0; k < state.scaled.length; k++) state.scaled[k] = (state.scaled[k] - range.lo) / (range.hi - range.lo || 1);
        state.value = state.scaled;
      }
    });
    if (scene.arrows.length) this.vectors = frames.at("arrows", where, this.vectors);
  }

  point(anchor) {
    if ("body" in anchor) { const b = this.bodies[anchor.body]; return V.add(b.x, Q.rotate(b.p, anchor.at)); }
    if ("rod" in anchor) {
      const [k, f, state] = this.place(anchor), x = state.x, p = [0, 1, 2].map((c) => x[3 * k + c] + f * (x[3 * k + 3 + c] - x[3 * k + c]));
      const [a, b] = anchor.offset;
      return a || b ? V.add(p, Q.rotate(mixed(state.p, 4 * k, f), [a, b, 0])) : p;
    }
    return anchor.at;
  }

  place(anchor) {
    const rod = this.scene.rods[anchor.rod], n = rod.vertices - 1, s = rod.fractions;
    if (!s) { const k = Math.min(Math.floor(anchor.s * n), n - 1); return [k, anchor.s * n - k, this.rods[anchor.rod]]; }
    let k = 0;
    while (k < n - 1 && s[k + 1] <= anchor.s) k++;
    return [k, (anchor.s - s[k]) / (s[k + 1] - s[k]), this.rods[anchor.rod]];
  }

  turn(anchor) {
    if ("body" in anchor) return this.bodies[anchor.body].p;
    if ("rod" in anchor) { const [k, f, state] = this.place(anchor); return mixed(state.p, 4 * k, f); }
    return [1, 0, 0, 0];
  }
}

// From a world to items of a Pencil; meshes and tubes are made once.
class Painter {
  constructor(pencil, world) {
    this.pencil = pencil;
    this.world = world;
    this.tubes = world.scene.rods.map((rod) => new Tube(pencil, rod.vertices, rod.round));
    this.springs = world.scene.lines.map((line) => (line.kind === "spring" ? new Tube(pencil, 145, true, 1) : null));
    for (const body of world.scene.bodies) for (const part of body.parts) {
      if (part.kind !== "mesh") continue;
      const points = new Float32Array(fromBase64(part.vertices).buffer), faces = new Uint32Array(fromBase64(part.faces).buffer);
      part.mesh = pencil.mesh(fileShape(points, faces));
    }
    for (const o of world.scene.obstacles) if (o.kind === "mesh") o.mesh = pencil.mesh(fileShape(o.corners, new Uint32Array(fromBase64(o.faces).buffer)));
    const { swept } = world.scene; // an envelope, in space
    if (swept) swept.mesh = pencil.mesh(fileShape(new Float32Array(fromBase64(swept.vertices).buffer), new Uint32Array(fromBase64(swept.faces).buffer)));
    this.traces = null;
  }

  items(show) {
    const found = [];
    this.drawBodies(found, show);
    this.drawRods(found, show);
    this.drawLines(found);
    this.drawObstacles(found);
    this.drawPoints(found, show);
    if (show.joints) this.drawJoints(found);
    if (show.frames) this.drawFrames(found);
    if (show.forces || show.contacts) this.drawArrows(found, show);
    return found;
  }

  drawBodies(found, show) {
    const { world } = this;
    world.scene.bodies.forEach((body, i) => {
      if (body.hidden) return;
      const { x, p } = world.bodies[i], glow = show.selected === i ? 0.5 : 0;
      let least = Infinity;
      for (const part of body.parts) {
        let size = part.size;
        if (body.guessed) {
          const most = Math.max(...size, 0.012 * world.size);
          size = size.map((s) => Math.max(s, 0.05 * most, 0.006 * world.size));
          least = Math.min(least, ...size);
        }
        const at = V.add(x, Q.rotate(p, part.at)), turn = Q.multiply(p, part.turn);
        found.push({ kind: part.kind, mesh: part.mesh, model: M.place(at, turn, size), color: body.rgb, glow, marked: part.kind !== "box" && part.kind !== "mesh" });
      }
      for (const at of body.hangs) {
        if (V.norm(at) > 0.4 * least) found.push(this.bar(x, V.add(x, Q.rotate(p, at)), 1.1 * world.slim, body.rgb));
      }
    });
  }

  drawRods(found, show) {
    const { world } = this, still = M.place([0, 0, 0], [1, 0, 0, 0], [1, 1, 1]);
    world.scene.rods.forEach((rod, i) => {
      const state = world.rods[i];
      this.tubes[i].shape(state.x, rod.half, state.value, state.p, world.thick);
      found.push({ mesh: this.tubes[i].mesh, model: still, color: rod.rgb, painted: state.value !== null });
    });
  }

  // A straight round bar between two points.
  bar(a, b, radius, color) {
    const d = V.sub(b, a), length = V.norm(d);
    const model = M.place(V.scale(V.add(a, b), 0.5), Q.towards(V.unit(d)), [2 * radius, 2 * radius, length]);
    return { kind: "cylinder", model, color };
  }

  drawLines(found) {
    const { world } = this, still = M.place([0, 0, 0], [1, 0, 0, 0], [1, 1, 1]);
    world.scene.lines.forEach((line, i) => {
      const points = line.points.map((p) => world.point(p));
      if (line.kind === "spring") {
        this.coil(this.springs[i], points[0], points[1]);
        found.push({ mesh: this.springs[i].mesh, model: still, color: STEEL });
        return;
      }
      const thick = { bar: 1.1, cable: 0.7, tendon: 0.45, bushing: 0.5 }[line.kind] * world.slim;
      const color = line.kind === "tendon" ? rgb("#c2452d") : STEEL;
      for (let k = 0; k + 1 < points.length; k++) found.push(this.bar(points[k], points[k + 1], thick, color));
    });
  }

  coil(tube, a, b) {
    const d = V.sub(b, a), length = V.norm(d) || 1e-12, q = Q.towards(V.unit(d)), turns = 9, n = tube.points;
    const r = Math.min(0.018 * this.world.size, 0.2 * length), x = new Float32Array(3 * n);
    for (let i = 0; i < n; i++) {
      const f = i / (n - 1), inner = Math.max(0, Math.min(1, (f - 0.1) / 0.8)), angle = 2 * Math.PI * turns * inner;
      const wide = r * Math.min(1, 12 * Math.min(inner, 1 - inner));
      x.set(V.add(a, Q.rotate(q, [wide * Math.cos(angle), wide * Math.sin(angle), f * length])), 3 * i);
    }
    const half = 0.3 * this.world.slim + 0.05 * r;
    tube.shape(x, [[half, half]], null, null, 1);
  }

  drawObstacles(found) {
    const { world } = this, color = rgb("#7f93ab");
    for (const o of world.scene.obstacles) {
      if (o.kind === "sphere") {
        found.push({ kind: "sphere", model: M.place(o.point, [1, 0, 0, 0], Array(3).fill(2 * o.radius)), color, alpha: 0.5 });
      } else if (o.kind === "cylinder") {
        const along = V.dot(V.sub(world.center, o.point), o.direction), across = V.sub(world.hi, world.lo);
        const length = Math.max(0.35 * world.size, 1.15 * Math.abs(V.dot(across.map(Math.abs), o.direction.map(Math.abs))));
        const at = V.add(o.point, V.scale(o.direction, along));
        found.push({ kind: "cylinder", model: M.place(at, Q.towards(o.direction), [2 * o.radius, 2 * o.radius, length]), color, alpha: o.hollow ? 0.25 : 0.5 });
      } else if (o.kind === "mesh") {
        found.push({ mesh: o.mesh, model: M.place([0, 0, 0], [1, 0, 0, 0], [1, 1, 1]), color, alpha: o.hollow ? 0.25 : 0.6 });
      }
    }
    if (world.scene.swept) found.push({ mesh: world.scene.swept.mesh, model: M.place([0, 0, 0], [1, 0, 0, 0], [1, 1, 1]), color, alpha: 0.3 });
    for (const o of world.planes) {
      const off = V.dot(V.sub(world.center, o.point), o.direction), at = V.sub(world.center, V.scale(o.direction, off));
      const s = 1.15 * world.size;
      found.push({ kind: "box", model: M.place(at, Q.towards(o.direction), [s, s, 1e-4 * s]), color, alpha: 0.3 });
    }
  }

  drawPoints(found, show) {
    const { world } = this;
    for (const point of world.scene.points) {
      if (point.kind === "sensor" && !show.joints) continue;
      const size = Array(3).fill((point.kind === "mass" ? 2.8 : 1.5) * world.knob);
      const color = point.kind === "mass" ? STEEL : rgb("#d4267d");
      found.push({ kind: "sphere", model: M.place(world.point(point.anchor), [1, 0, 0, 0], size), color });
    }
  }

  drawJoints(found) {
    const { world } = this, k = world.knob;
    for (const joint of world.scene.joints) {
      const at = world.point(joint.anchor), turn = world.turn(joint.anchor);
      const along = joint.axis ? Q.multiply(turn, Q.towards(V.unit(joint.axis))) : turn;
      const put = (kind, size, color) => found.push({ kind, model: M.place(at, along, size.map((s) => s * k)), color });
      if (joint.kind === "clamped" || joint.kind === "guided") put("box", [3.4, 3.4, 1.6], STONE);
      else if (joint.kind === "fixed") put("box", [2, 2, 2], STONE);
      else if (joint.kind === "hinged" || joint.kind === "spherical") put("ball", [2.5, 2.5, 2.5], BRASS);
      else if (joint.kind === "prismatic") put("box", [1.7, 1.7, 5], BRASS);
      else if (joint.kind === "planar") put("box", [6, 6, 0.5], BRASS);
      else if (joint.kind === "universal") { put("ball", [2, 2, 2], BRASS); put("cylinder", [1.1, 1.1, 4], BRASS); }
      else if (joint.kind === "cylindrical" || joint.kind === "helical") put("cylinder", [1.7, 1.7, 5.5], BRASS);
      else { put("cylinder", [2.2, 2.2, 3.2], BRASS); put("cylinder", [1, 1, 4.4], STEEL); }
    }
  }

  arrow(found, from, vector, thick, color) {
    const length = V.norm(vector);
    if (!(length > 0)) return;
    const d = V.scale(vector, 1 / length), head = Math.min(5 * thick, 0.5 * length), neck = length - head, q = Q.towards(d);
    const stem = M.place(V.add(from, V.scale(d, 0.5 * neck)), q, [1.5 * thick, 1.5 * thick, neck]);
    const tip = M.place(V.add(from, V.scale(d, neck + 0.5 * head)), q, [4 * thick, 4 * thick, head]);
    found.push({ kind: "cylinder", model: stem, color, shy: true }, { kind: "cone", model: tip, color, shy: true });
  }

  drawFrames(found) {
    const { world } = this, colors = [rgb("#d1352b"), rgb("#2a9d3f"), rgb("#2b62d1")];
    const frame = (x, p, length) => colors.forEach((color, k) => {
      this.arrow(found, x, Q.rotate(p, [k === 0 ? length : 0, k === 1 ? length : 0, k === 2 ? length : 0]), 0.04 * length, color);
    });
    world.scene.bodies.forEach((body, i) => {
      if (!body.hidden) frame(world.bodies[i].x, world.bodies[i].p, Math.max(0.07 * world.size, 1.25 * Math.min(body.reach, 0.15 * world.size)));
    });
    world.scene.rods.forEach((rod, i) => {
      const { x, p } = world.rods[i], count = Math.min(rod.vertices, 11);
      for (let j = 0; j < count; j++) {
        const k = Math.round(j * (rod.vertices - 1) / (count - 1));
        frame([x[3 * k], x[3 * k + 1], x[3 * k + 2]], p.slice(4 * k, 4 * k + 4), 0.045 * world.size);
      }
    });
    frame([0, 0, 0], [1, 0, 0, 0], 0.1 * world.size);
  }

  drawArrows(found, show) {
    const { world } = this, longest = 0.24 * world.size, thick = 0.0055 * world.size;
    world.scene.arrows.forEach((arrow, i) => {
      if (!(arrow.group === "contact" ? show.contacts : show.forces)) return;
      const { most } = world.arrowScale[`${arrow.group}|${arrow.unit}`];
      const v = [0, 1, 2].map((c) => world.vectors[3 * i + c]), size = V.norm(v);
      if (!most || size < 1e-4 * most) return;
      const slim = arrow.group.endsWith("length") ? 0.6 * thick : thick;
      this.arrow(found, world.point(arrow.anchor), V.scale(v, longest / Math.max(most, size)), slim, rgb(ARROWS[arrow.group]));
    });
  }

  // Where centres of bodies and ends of rods have been.
  paths() {
    const { world, pencil } = this, { frames, scene } = world;
    if (!this.traces || this.traced !== frames.version) {
      const old = this.traces || [];
      const tell = [...scene.bodies.map((b, i) => (b.hidden ? null : ["x", 3 * i, b.rgb])),
        ...scene.rods.map((rod, i) => [`rod${i}.x`, 3 * (rod.vertices - 1), rod.rgb])].filter(Boolean);
      this.traces = tell.map(([track, column, color], j) => {
        const { width, values } = frames.tracks[track], points = new Float32Array(3 * frames.count);
        for (let r = 0; r < frames.count; r++) points.set(values.subarray(r * width + column, r * width + column + 3), 3 * r);
        const buffer = old[j] ? old[j].buffer : pencil.polyline();
        pencil.setPoints(buffer, points, frames.count);
        return { buffer, color, width: 1.8, fading: true, alpha: 0.85 };
      });
      this.traced = frames.version;
    }
    const shown = world.where[0] + 1 + (world.where[1] > 0.5 ? 1 : 0);
    for (const trace of this.traces) trace.shown = shown;
    return this.traces;
  }
}
