// The page: camera, timeline, options, plots, live frames.
const by = (id) => document.getElementById(id);

class Camera {
  constructor(world) { this.world = world; this.fov = 0.55; this.aside = 0; this.free = false; this.reset(); }

  reset() {
    const { world } = this, span = V.sub(world.hi, world.lo);
    this.azimuth = span[0] < 0.7 * span[1] ? 0.5 : -1.05;
    this.elevation = span[2] < 0.12 * Math.max(span[0], span[1]) ? 0.85 : 0.26;
    this.free = false;
    this.fit(this.aspect || 1.4);
  }

  // As near as the box of everything allows.
  fit(aspect) {
    this.aspect = aspect;
    const { world } = this, [x, y, z] = this.axes(), tall = Math.tan(this.fov / 2), wide = tall * aspect * (1 - this.aside);
    this.target = world.center.slice();
    let distance = 0;
    for (let k = 0; k < 8; k++) {
      const corner = V.sub([k & 1 ? world.hi[0] : world.lo[0], k & 2 ? world.hi[1] : world.lo[1], k & 4 ? world.hi[2] : world.lo[2]], world.center);
      distance = Math.max(distance, V.dot(corner, z) + Math.max(Math.abs(V.dot(corner, x)) / wide, Math.abs(V.dot(corner, y)) / tall));
    }
    this.distance = 1.06 * distance + 0.02 * world.radius;
  }

  axes() {
    const c = Math.cos(this.elevation);
    const z = [c * Math.cos(this.azimuth), c * Math.sin(this.azimuth), Math.sin(this.elevation)];
    const x = [-Math.sin(this.azimuth), Math.cos(this.azimuth), 0];
    return [x, V.cross(z, x), z];
  }

  eye() { return V.add(this.target, V.scale(this.axes()[2], this.distance)); }

  turn(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.elevation = Math.max(-1.5, Math.min(1.5, this.elevation + 0.008 * dy));
    this.free = true;
  }

  shift(dx, dy, height) {
    const [x, y] = this.axes(), s = 2 * this.distance * Math.tan(this.fov / 2) / height;
    this.target = V.add(this.target, V.add(V.scale(x, -dx * s), V.scale(y, dy * s)));
    this.free = true;
  }

  zoom(factor) {
    this.distance = Math.max(0.02 * this.world.radius, Math.min(60 * this.world.radius, this.distance * factor));
    this.free = true;
  }
}

class Viewer {
  constructor(scene, frames) {
    this.scene = scene;
    this.frames = frames;
    this.world = new World(scene, frames);
    this.camera = new Camera(this.world);
    this.time = frames.start;
    this.playing = false;
    this.show = { joints: true, forces: false, contacts: false, traces: false, frames: false, names: false, floor: true, selected: -1 };
    this.until = scene.live ? scene.live.until : 0;
    by("title").textContent = scene.title;
    by("about").title = by("about").textContent = [scene.method, scene.formulation, told(frames.end - frames.start, "s"), scene.errors].filter((x) => x && x !== "0 s").join(" · ");
    try {
      if (new URLSearchParams(location.hash.slice(1)).has("flat")) throw new Error("no WebGL2");
      this.pencil = new Pencil(by("view"));
      this.painter = new Painter(this.pencil, this.world);
    } catch (error) {
      by("trouble").hidden = false;
      by("trouble").textContent = error.message === "no WebGL2"
        ? "This browser has no WebGL2, so there is no 3D view; the plots and the timeline work."
        : `The 3D view cannot start: ${error.message}`;
      for (const id of ["options", "triad"]) by(id).hidden = true;
    }
    this.setTheme();
    this.makeControls();
    this.makePlots();
    this.readHash(true);
    // One moment has no curves.
    if (frames.count < 2 && !scene.live) { by("plots").hidden = true; for (const id of ["play", "scrub", "speed", "loop"]) (by(id).closest("label") || by(id)).hidden = true; }
    this.watchPointer();
    // Drawn at once: a frame later it would be seen stretched.
    const redraw = new ResizeObserver(() => { this.resized = true; this.paint(); });
    redraw.observe(by("stage"));
    redraw.observe(by("plots"));
    this.dirty();
  }

  // --- what is shown ---

  setTheme() {
    const wanted = new URLSearchParams(location.hash.slice(1)).get("theme");
    const dark = wanted ? wanted === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    this.dark = dark;
  }

  makeControls() {
    const select = by("color"), fields = this.scene.fields;
    const known = Object.keys(fields).filter((key) => this.scene.rods.some((rod) => rod.fields.includes(key)));
    for (const [key, text] of [["", "none"], ...known.map((key) => [key, fields[key].title])]) select.append(new Option(text, key));
    by("pick").hidden = !known.length;
    this.setColor(known.length ? "curvature" : "");
    select.addEventListener("change", () => { this.setColor(select.value); this.dirty(); });
    for (const key of ["joints", "forces", "contacts", "traces", "frames", "names", "floor"]) {
      by(key).checked = this.show[key];
      by(key).addEventListener("change", () => { this.show[key] = by(key).checked; this.tellScales(); this.dirty(); });
    }
    by("contacts").parentElement.hidden = !this.scene.arrows.some((arrow) => arrow.group === "contact");
    by("options").addEventListener("toggle", () => { this.resized = true; this.dirty(); });
    by("reset").addEventListener("click", () => { this.camera.reset(); this.dirty(); });
    by("play").addEventListener("click", () => this.setPlaying(!this.playing));
    by("scrub").addEventListener("input", () => { this.following = false; this.seek(this.fromScrub()); });
    this.makeSpeeds();
    by("live").addEventListener("click", () => { this.following = true; this.setPlaying(false); this.seek(this.frames.end); });
    document.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.setTheme(); this.plots.forEach((p) => { p.stale = true; }); this.dirty(); });
    window.addEventListener("hashchange", () => { this.readHash(false); this.dirty(); });
    this.tellScales();
  }

  // Speeds from a tenth to ten times, and those that make a run of seconds out of any.
  makeSpeeds() {
    const length = Math.max(this.until || 0, this.frames.end - this.frames.start) || 1, speeds = [];
    for (let e = -6; e <= 5; e++) for (const f of [1, 2, 5]) {
      const s = f * 10 ** e, lasts = length / s;
      if ((s >= 0.0999 && s <= 10.01) || (lasts > 0.9 && lasts < 200)) speeds.push(s);
    }
    const best = length > 1.5 && length < 40 ? 1 : speeds.reduce((a, b) => (Math.abs(Math.log(length / b / 8)) < Math.abs(Math.log(length / a / 8)) ? b : a));
    by("speed").replaceChildren(...speeds.map((s) => new Option(`${plain(s)}×`, String(s))));
    by("speed").value = String(best);
  }

  setColor(key) {
    this.field = key;
    by("color").value = key;
    this.range = key ? this.world.fieldRange(key) : null;
    by("bar").hidden = !this.range || !this.pencil;
    if (!this.range) return;
    const { title, unit, signed, inverse } = this.scene.fields[key], { lo, hi, cut } = this.range;
    const colors = rampColors(signed ? SIGNED : inverse ? [...RAMP].reverse() : RAMP), ramp = by("bar-ramp"), g = ramp.getContext("2d");
    if (this.pencil) this.pencil.setPalette(colors);
    for (let i = 0; i < 128; i++) {
      const k = 4 * Math.round((127 - i) / 127 * 255);
      g.fillStyle = `rgb(${colors[k]},${colors[k + 1]},${colors[k + 2]})`;
      g.fillRect(0, i, 1, 1);
    }
    by("bar-title").textContent = title;
    by("bar-high").textContent = (cut ? "≥ " : "") + told(hi, unit);
    by("bar-low").textContent = (cut && signed ? "≤ " : "") + told(lo, unit);
    by("bar").setAttribute("aria-label", `Colours: ${title} from ${told(lo, unit)} to ${told(hi, unit)}`);
  }

  tellScales() {
    const lines = [];
    if (this.world.thick > 1.01) lines.push(`Rods drawn ${plain(this.world.thick, 2)} times as thick.`);
    for (const [key, { most, cut }] of Object.entries(this.world.arrowScale)) {
      const [group, unit] = key.split("|");
      if (!(group === "contact" ? this.show.contacts : this.show.forces)) continue;
      if (most > 0) lines.push(`${group}: longest arrow ${cut ? "≥ " : ""}${told(most, unit)}`);
    }
    by("scales").textContent = lines.join("\n");
  }

  makePlots() {
    const series = this.scene.series, second = series.findIndex((one, i) => i > 0 && !one.title.startsWith("joint forces"));
    const chosen = [0, Math.max(second, 0)];
    const position = series.findIndex((one, i) => i > chosen[1] && /position$/.test(one.title));
    if (position > 0) chosen.push(position);
    const first = this.scene.first && this.scene.first.length ? this.scene.first : chosen;
    this.plots = first.map((k) => new Plot(by("plots"), series, k, this.frames, (t) => { this.following = false; this.seek(t); }));
  }

  // #t=1.5&color=moment&theme=dark&show=joints,forces&view=azimuth,elevation[,zoom[,x,y,z]]&plots=0,2,5&options=closed&play=0
  readHash(first) {
    const asked = new URLSearchParams(location.hash.slice(1)), t = parseFloat(asked.get("t"));
    if (asked.has("show")) {
      const shown = asked.get("show").split(",");
      for (const key of ["joints", "forces", "contacts", "traces", "frames", "names", "floor"]) { this.show[key] = shown.includes(key); by(key).checked = this.show[key]; }
      this.tellScales();
    }
    if (asked.has("color") && [...by("color").options].some((o) => o.value === asked.get("color"))) this.setColor(asked.get("color"));
    if (asked.has("view")) {
      const [azimuth, elevation, zoom, ...at] = asked.get("view").split(",").map(Number);
      if (Number.isFinite(azimuth) && Number.isFinite(elevation)) {
        this.asked = { azimuth: azimuth * Math.PI / 180, elevation: elevation * Math.PI / 180, zoom: zoom > 0 ? zoom : 1, at };
        this.resized = true;
      }
    }
    if (asked.has("plots")) {
      asked.get("plots").split(",").map(Number).forEach((k, i) => { if (this.plots[i] && this.scene.series[k]) this.plots[i].show(k); });
    }
    if (asked.has("options")) by("options").open = asked.get("options") !== "closed";
    else if (first && innerWidth < 760) by("options").open = false;
    if (asked.has("theme")) { this.setTheme(); this.plots.forEach((p) => { p.stale = true; }); }
    if (Number.isFinite(t)) { this.seek(t); this.setPlaying(false); }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || asked.get("play") === "0";
    if (first && !Number.isFinite(t) && !this.scene.live && this.frames.count > 1 && !still) this.setPlaying(true);
  }

  // --- time ---

  get last() { return this.until ? Math.max(this.until, this.frames.end) : this.frames.end; }

  fromScrub() { return this.frames.start + (this.last - this.frames.start) * by("scrub").value / 1000; }

  seek(time) {
    this.time = Math.max(this.frames.start, Math.min(this.frames.end, time));
    this.dirty();
  }

  setPlaying(on) {
    this.playing = on && this.frames.count > 1;
    if (this.playing && this.time >= this.frames.end - 1e-12) this.time = this.frames.start;
    if (this.playing) this.following = false;
    this.clock = null;
    by("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    by("play-icon").setAttribute("d", this.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 2l10 6-10 6z");
    this.dirty();
  }

  key(event) {
    const tag = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || tag === "SELECT") return;
    const step = (this.frames.end - this.frames.start) / Math.max(this.frames.count - 1, 1) * (event.shiftKey ? 10 : 1);
    const acts = {
      " ": () => this.setPlaying(!this.playing), r: () => this.camera.reset(), Home: () => this.seek(this.frames.start),
      End: () => this.seek(this.frames.end), ArrowLeft: () => { this.setPlaying(false); this.seek(this.time - step); },
      ArrowRight: () => { this.setPlaying(false); this.seek(this.time + step); },
      j: () => by("joints").click(), f: () => by("forces").click(), p: () => by("traces").click(), n: () => by("names").click(),
    };
    if (!acts[event.key] || (tag === "BUTTON" && event.key === " ") || (tag === "INPUT" && event.key === " " && event.target.type === "checkbox")) return;
    event.preventDefault();
    acts[event.key]();
    this.dirty();
  }

  // --- pointer ---

  watchPointer() {
    const view = by("view"), held = new Map();
    let moved = 0;
    view.addEventListener("pointerdown", (event) => { view.setPointerCapture(event.pointerId); held.set(event.pointerId, event); moved = 0; });
    const release = (event) => {
      if (held.delete(event.pointerId) && moved < 4 && event.type === "pointerup") this.pick(event);
    };
    view.addEventListener("pointerup", release);
    view.addEventListener("pointercancel", release);
    view.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
      moved += Math.abs(dx) + Math.abs(dy);
      if (held.size === 2) {
        const other = [...held.values()].find((x) => x.pointerId !== event.pointerId);
        const far = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
        this.camera.zoom(far(before) / Math.max(far(event), 1));
        this.camera.shift(dx / 2, dy / 2, view.clientHeight);
      } else if (event.shiftKey || event.buttons & 6) this.camera.shift(dx, dy, view.clientHeight);
      else this.camera.turn(dx, dy);
      held.set(event.pointerId, event);
      this.dirty();
    });
    view.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.camera.zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY * (event.deltaMode ? 0.03 : 0.0012)))));
      this.dirty();
    }, { passive: false });
    view.addEventListener("dblclick", () => { this.camera.reset(); this.dirty(); });
    view.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  // The body under the pointer: its position is plotted.
  pick(event) {
    const view = by("view"), r = view.getBoundingClientRect();
    let best = -1, near = Infinity;
    this.scene.bodies.forEach((body, i) => {
      if (body.hidden || !this.matrix) return;
      const [x, y, w] = M.project(this.matrix, this.world.bodies[i].x);
      const away = Math.hypot((x + 1) / 2 * r.width - (event.clientX - r.left), (1 - y) / 2 * r.height - (event.clientY - r.top));
      const reach = Math.max(14, 0.6 * body.reach / w / Math.tan(this.camera.fov / 2) * r.height / 2);
      if (away < reach && w < near) { near = w; best = i; }
    });
    this.show.selected = best;
    const index = best < 0 ? -1 : this.scene.series.findIndex((one) => one.lines[0].track === "x" && one.lines[0].column === 3 * best);
    if (index >= 0) this.plots[this.plots.length - 1].show(index);
    this.dirty();
  }

  // --- drawing ---

  dirty() {
    if (this.asleep === false) return;
    this.asleep = false;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.asleep = true;
    if (this.playing) {
      if (this.clock !== null) this.time += (now - this.clock) / 1000 * Number(by("speed").value);
      this.clock = now;
      if (this.time > this.frames.end) {
        const length = this.frames.end - this.frames.start;
        if (by("loop").checked && length > 0) this.time = this.frames.start + (this.time - this.frames.start) % length;
        else { this.time = this.frames.end; this.setPlaying(false); }
      }
    }
    this.paint();
    if (this.playing) this.dirty();
  }

  paint() {
    this.world.move(this.time, this.field, this.range);
    if (this.pencil) this.render();
    for (const plot of this.plots) plot.draw(this.time);
    const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10((this.last - this.frames.start) / 2 || 1))));
    by("time").textContent = this.frames.count > 1
      ? `${this.time.toFixed(digits)} / ${plain(this.last, 4)} s` : this.frames.start ? `${plain(this.frames.start, 4)} s` : "at rest";
    by("scrub").value = String(1000 * (this.time - this.frames.start) / (this.last - this.frames.start || 1));
    by("scrub").disabled = this.frames.count < 2;
    by("scrub").setAttribute("aria-valuetext", by("time").textContent);
    document.body.dataset.ready = "true";
  }

  render() {
    const view = by("view"), ratio = Math.min(window.devicePixelRatio || 1, 2), gl = this.pencil.gl;
    const width = Math.max(1, Math.round(view.clientWidth * ratio)), height = Math.max(1, Math.round(view.clientHeight * ratio));
    if (view.width !== width || view.height !== height) { view.width = width; view.height = height; this.resized = true; }
    const { camera, world } = this, aspect = width / height;
    if (this.resized) {
      // Not under the options.
      camera.aside = by("options").open && view.clientWidth > 600 ? Math.min(0.25, by("options").clientWidth / view.clientWidth) : 0;
      if (this.asked) {
        camera.azimuth = this.asked.azimuth; camera.elevation = this.asked.elevation;
        camera.fit(aspect);
        camera.zoom(1 / this.asked.zoom);
        if (this.asked.at.length === 3 && this.asked.at.every(Number.isFinite)) camera.target = this.asked.at;
        this.asked = null;
      } else if (!camera.free) camera.fit(aspect);
      this.resized = false;
    }
    const eye = camera.eye(), reach = V.norm(V.sub(eye, world.center)) + 8 * world.radius;
    const near = Math.max(0.002 * camera.distance, Math.min(0.3 * camera.distance, camera.distance - 2.5 * world.radius));
    this.matrix = M.multiply(M.perspective(camera.fov, aspect, near, reach, camera.aside), M.look(eye, camera.target, [0, 0, 1]));
    const light = { center: world.center, radius: 1.25 * world.radius, sun: V.unit([0.35, -0.42, 0.84]) };
    if (camera.azimuth > -0.4 && camera.azimuth < 1.2) light.sun = V.unit([0.45, 0.3, 0.84]);
    const ink = rgb(getComputedStyle(document.documentElement).getPropertyValue("--grid").trim());
    this.pencil.draw(this.painter.items(this.show), this.show.traces ? this.painter.paths() : [], {
      ...light, view: this.matrix, eye, width, height, ratio, ink, dark: this.dark, grid: this.show.floor,
      floor: [world.center[0], world.center[1], world.floor], solid: world.solid, cell: niceStep(world.size / 9),
    });
    if (gl.isContextLost()) { by("trouble").hidden = false; by("trouble").textContent = "The graphics card was lost; load the page again."; }
    this.drawLabels(view.clientWidth, view.clientHeight);
    this.drawTriad();
  }

  drawLabels(width, height) {
    const box = by("labels");
    if (!this.show.names) { if (box.firstChild) box.replaceChildren(); return; }
    const told = [];
    this.scene.bodies.forEach((body, i) => { if (!body.hidden) told.push([body.name, this.world.bodies[i].x]); });
    this.scene.rods.forEach((rod, i) => told.push([rod.name, this.world.point({ rod: i, s: 0.5, offset: [0, 0] })]));
    if (this.show.joints) for (const joint of this.scene.joints) if (!("rod" in joint.anchor)) told.push([joint.name, this.world.point(joint.anchor)]);
    for (const point of this.scene.points) told.push([point.name, this.world.point(point.anchor)]);
    for (const line of this.scene.lines) told.push([line.name, V.scale(V.add(this.world.point(line.points[0]), this.world.point(line.points[line.points.length - 1])), 0.5)]);
    told.length = Math.min(told.length, 60);
    while (box.children.length > told.length) box.lastChild.remove();
    while (box.children.length < told.length) box.append(document.createElement("span"));
    told.forEach(([text, at], i) => {
      const label = box.children[i], [x, y, w] = M.project(this.matrix, at);
      if (label.textContent !== text) label.textContent = text;
      label.hidden = w < 0;
      label.style.transform = `translate(${(x + 1) / 2 * width + 9}px, ${(1 - y) / 2 * height - 9}px)`;
    });
  }

  drawTriad() {
    const canvas = by("triad"), ratio = Math.min(window.devicePixelRatio || 1, 2), size = 76;
    canvas.width = canvas.height = size * ratio;
    const g = canvas.getContext("2d"), [x, y, z] = this.camera.axes();
    g.scale(ratio, ratio);
    g.font = "600 11px system-ui, sans-serif"; g.textAlign = "center"; g.textBaseline = "middle"; g.lineWidth = 2; g.lineCap = "round";
    const axes = [0, 1, 2].map((k) => [k, z[k]]).sort((a, b) => a[1] - b[1]);
    for (const [k] of axes) {
      const to = [size / 2 + 23 * x[k], size / 2 - 23 * y[k]];
      g.strokeStyle = g.fillStyle = ["#d1453b", "#2f9a4a", "#3b6fd1"][k];
      stroke(g, [[size / 2, size / 2], to]);
      g.fillText("xyz"[k], size / 2 + 31 * x[k], size / 2 - 31 * y[k]);
    }
    const down = this.scene.gravity, strength = V.norm(down);
    if (!this.show.forces || !strength) return;
    const [u, v] = [V.dot(down, x) / strength, -V.dot(down, y) / strength], s = size / 2;
    g.strokeStyle = g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--soft");
    stroke(g, [[s, s], [s + 21 * u, s + 21 * v]]);
    stroke(g, [[s + 16 * u - 4 * v, s + 16 * v + 4 * u], [s + 21 * u, s + 21 * v], [s + 16 * u + 4 * v, s + 16 * v - 4 * u]]);
    g.fillText("g", s + 30 * u, s + 30 * v);
  }

  // --- live ---

  async follow() {
    by("live").hidden = false;
    this.following = true;
    let failures = 0;
    while (this.scene.live) {
      try {
        const answer = await fetch(`frames?from=${this.frames.count}&generation=${this.scene.live.generation}`, { cache: "no-store" });
        if (!answer.ok) throw new Error(String(answer.status));
        const generation = Number(answer.headers.get("X-Generation")), done = answer.headers.get("X-Done");
        const bytes = new Uint8Array(await answer.arrayBuffer());
        if (bytes.length) await this.take(bytes, generation);
        failures = 0;
        if (done && !bytes.length) { this.finish(done); return; }
      } catch (error) {
        if (++failures > 8) { this.finish("the simulation cannot be reached any more"); return; }
      }
      by("live").setAttribute("aria-pressed", String(this.following));
      await new Promise((resolve) => setTimeout(resolve, failures ? 500 : 120));
    }
  }

  async take(bytes, generation) {
    const chunk = unpack(await inflate(bytes));
    if (generation !== this.scene.live.generation) { this.frames.clear(); this.scene.live.generation = generation; }
    this.unwind(chunk);
    this.frames.append(chunk);
    this.world.measure();
    if (!this.camera.free) this.camera.fit(this.camera.aspect || 1.4);
    this.setColor(this.field);
    this.tellScales();
    this.plots.forEach((plot) => { plot.stale = true; plot.until = this.until; });
    if (this.following) this.time = this.frames.end;
    by("about").textContent = `running: ${told(this.frames.end, "s")} of ${told(this.until, "s")}`;
    this.dirty();
  }

  // Angles go on where the last chunk ended: within a chunk they are counted over turns.
  unwind(chunk) {
    const { series } = this.frames.tracks;
    if (!series || !this.frames.count) return;
    for (const { unit, lines } of this.scene.series) {
      if (unit !== "rad" || lines[0].track !== "series") continue;
      for (const { column } of lines) {
        const before = series.values[(this.frames.count - 1) * series.width + column];
        const turn = 2 * Math.PI * Math.round((before - chunk.series.values[column]) / (2 * Math.PI));
        for (let r = 0; r < chunk.series.rows; r++) chunk.series.values[r * series.width + column] += turn;
      }
    }
  }

  finish(how) {
    this.scene.live = null;
    this.until = 0;
    by("live").hidden = true;
    by("about").textContent = how;
    if (this.following) this.setPlaying(true);
    this.plots.forEach((plot) => { plot.stale = true; plot.until = 0; });
    this.makeSpeeds();
    this.dirty();
  }
}

async function open() {
  const scene = JSON.parse(by("scene").textContent), frames = new Frames();
  const data = by("frames-data").textContent.trim();
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack the frames");
  frames.append(unpack(await inflate(fromBase64(data))));
  const viewer = new Viewer(scene, frames);
  window.gyrod = {
    seek: (t) => { viewer.setPlaying(false); viewer.seek(t); }, play: () => viewer.setPlaying(true), pause: () => viewer.setPlaying(false),
    get time() { return viewer.time; }, viewer,
  };
  if (scene.live) viewer.follow();
}

open().catch((error) => {
  by("trouble").hidden = false;
  by("trouble").textContent = `The scene cannot be shown: ${error.message}.`;
  console.error(error);
});
