// Curves over time beside the view.
const CURVES = ["#3b78c3", "#e07b39", "#2a9d6f", "#c44e7b", "#8a6fc9", "#b59a1c", "#4fa6b8", "#8c6a4f"];

class Plot {
  constructor(box, series, first, frames, onJump) {
    this.series = series;
    this.frames = frames;
    this.box = document.createElement("div");
    this.box.className = "plot";
    this.select = document.createElement("select");
    this.select.setAttribute("aria-label", "What this plot shows");
    series.forEach((one, i) => {
      const option = document.createElement("option");
      option.value = String(i);
      option.textContent = one.title;
      this.select.append(option);
    });
    this.select.value = String(first);
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.box.append(this.select, this.legend, this.canvas);
    box.append(this.box);
    this.back = document.createElement("canvas");
    this.select.addEventListener("change", () => { this.stale = true; this.draw(this.time); });
    const jump = (event) => {
      const r = this.canvas.getBoundingClientRect(), [left, right] = this.inside;
      const f = (event.clientX - r.left - left) / (r.width - left - right);
      onJump(this.from + Math.max(0, Math.min(1, f)) * (this.to - this.from));
    };
    this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); jump(event); });
    this.canvas.addEventListener("pointermove", (event) => { if (event.buttons) jump(event); });
    this.stale = true;
  }

  get shown() { return this.series[Number(this.select.value)]; }

  show(index) { this.select.value = String(index); this.stale = true; }

  // The curves, once; the moment is drawn over them.
  prepare() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    for (const canvas of [this.canvas, this.back]) { canvas.width = Math.max(1, w * ratio); canvas.height = Math.max(1, h * ratio); }
    const g = this.back.getContext("2d"), style = getComputedStyle(document.documentElement);
    const { lines, unit, title } = this.shown, frames = this.frames;
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    let lo = Infinity, hi = -Infinity;
    for (const line of lines) { const [a, b] = frames.range(line.track, line.column, 1); lo = Math.min(lo, a); hi = Math.max(hi, b); }
    if (!(hi - lo > 1e-9 * Math.max(Math.abs(lo), Math.abs(hi)))) { const pad = Math.abs(hi) * 0.1 || 1; lo -= pad; hi += pad; }
    const step = niceStep((hi - lo) / Math.max(2, h / 45));
    lo = step * Math.floor(lo / step + 1e-6); hi = step * Math.ceil(hi / step - 1e-6);
    const power = scaleOf(unit, Math.max(Math.abs(lo), Math.abs(hi)));
    const ticks = [];
    for (let y = lo; y <= hi + 0.01 * step; y += step) ticks.push([y, plain(Math.abs(y) < 1e-6 * step ? 0 : y / power.factor, 4)]);
    const left = 10 + Math.max(...ticks.map(([, text]) => g.measureText(text).width)), right = 12, bottom = 30, top = 22;
    this.inside = [left, right];
    this.from = frames.start; this.to = frames.count > 1 ? frames.end : frames.start + 1;
    if (this.until) this.to = Math.max(this.to, this.until);
    this.X = (t) => left + (w - left - right) * (t - this.from) / (this.to - this.from);
    this.Y = (y) => h - bottom - (h - bottom - top) * (y - lo) / (hi - lo);
    g.strokeStyle = style.getPropertyValue("--line"); g.fillStyle = style.getPropertyValue("--soft"); g.lineWidth = 1;
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const [y, text] of ticks) { const at = Math.round(this.Y(y)) + 0.5; stroke(g, [[left, at], [w - right, at]]); g.fillText(text, left - 6, at); }
    g.textAlign = "left"; g.textBaseline = "alphabetic";
    g.fillText(power.unit === "1" ? "" : power.unit, 2, 9);
    const span = niceStep((this.to - this.from) / Math.max(2, (w - left) / 75));
    g.textAlign = "center";
    for (let t = span * Math.ceil(this.from / span - 1e-6); t <= this.to * (1 + 1e-9) + 1e-12; t += span) {
      g.fillText(plain(Math.abs(t) < 1e-9 ? 0 : t, 4), this.X(t), h - bottom + 15);
    }
    g.textAlign = "right";
    g.fillText("time [s]", w - right, h - 3);
    g.lineJoin = "round"; g.lineWidth = 1.6;
    const time = frames.tracks.t.values;
    lines.forEach((line, i) => {
      const { width, values } = frames.tracks[line.track];
      g.strokeStyle = CURVES[i % CURVES.length];
      g.beginPath();
      for (let r = 0; r < frames.count; r++) g.lineTo(this.X(time[r]), this.Y(values[r * width + line.column]));
      g.stroke();
    });
    this.legend.replaceChildren(...lines.map((line, i) => {
      const item = document.createElement("span"), mark = document.createElement("i");
      mark.style.background = CURVES[i % CURVES.length];
      item.append(mark, document.createTextNode(""));
      return item;
    }));
    this.canvas.setAttribute("aria-label", `${title} over time, from ${told(lo, unit)} to ${told(hi, unit)}`);
    this.ratio = ratio;
    this.wide = w;
    this.high = h;
    this.noise = 1e-6 * (hi - lo);
    this.stale = false;
  }

  draw(time) {
    this.time = time;
    if (!this.canvas.clientWidth || !this.frames.count) return;
    if (this.stale || this.wide !== this.canvas.clientWidth || this.high !== this.canvas.clientHeight) this.prepare();
    const g = this.canvas.getContext("2d"), h = this.canvas.clientHeight, { lines, unit } = this.shown;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.back, 0, 0);
    g.scale(this.ratio, this.ratio);
    const style = getComputedStyle(document.documentElement), x = this.X(time), where = this.frames.find(time);
    g.strokeStyle = style.getPropertyValue("--accent"); g.lineWidth = 1.2;
    stroke(g, [[x, 8], [x, h - 30]]);
    lines.forEach((line, i) => {
      const { width, values } = this.frames.tracks[line.track], [row, f] = where, at = row * width + line.column;
      const y = f ? values[at] + f * (values[at + width] - values[at]) : values[at];
      g.fillStyle = CURVES[i % CURVES.length];
      g.beginPath(); g.arc(x, this.Y(y), 3, 0, 7); g.fill();
      this.legend.children[i].lastChild.data = `${line.label} ${told(Math.abs(y) < this.noise ? 0 : y, unit)}`.trim();
    });
  }
}

function stroke(g, points) {
  g.beginPath();
  for (const [x, y] of points) g.lineTo(x, y);
  g.stroke();
}

// The factor of a unit with prefix that suits numbers of a size.
function scaleOf(unit, size) {
  if (!size || !/^(m|N|Pa|J|N m|m\/s|W)$/.test(unit)) return { factor: 1, unit };
  const step = Math.max(-4, Math.min(3, Math.floor(Math.log10(size * 1.0001) / 3)));
  if (step === -1 && size >= 0.1) return { factor: 1, unit };
  return { factor: 1000 ** step, unit: ["p", "n", "µ", "m", "", "k", "M", "G"][step + 4] + unit };
}
