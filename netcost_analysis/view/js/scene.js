// The view and its drawing: a window of time, the lanes, a cursor, a selection. Host, mouse and keys
// call its methods; one frame draws what is loaded.

import { LanePainter } from "./lanes.js";
import { binned, drawAxis, drawMarks, drawStrips, stripsOf } from "./strips.js";
import { TileStore, eachBucket, firstAbove } from "./tiles.js";

const GUTTER = 132;
const AXIS = 24;
const STRIP = 30;
const LANE = { least: 18, most: 88, usual: 34, gap: 2 };
// The shortest view in ns: zooming further would show nothing more.
const SHORTEST = 40;
const FONT = '"DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif';
const CHOSEN = "#0072b2";
const MOST_REMEMBERED = 100;

export class Scene {
  // host: as for mount(). drawn: called after each frame.
  constructor(canvas, host, drawn) {
    Object.assign(this, { canvas, host, drawn, header: host.header });
    this.context = canvas.getContext("2d", { alpha: false });
    this.whole = Math.max(this.header.duration_ns, 1);
    this.view = { begin: 0, end: this.whole };
    this.place = 0;
    this.cursor = null;
    this.selection = null;
    this.history = [];
    this.scroll = 0;
    this.scale = 1;
    this.frames = [];
    this.marks = this.header.cpus.map((cpu) => this.header.marks.filter((mark) => mark.cpu === cpu).sort((one, other) => one.begin_ns - other.begin_ns));
    this.strips = stripsOf(this.header);
    this.painter = new LanePainter(this.header);
    this.store = new TileStore({
      bucketCount: this.header.bucket_count,
      maxLevel: this.header.max_level,
      duration: this.whole,
      load: host.tile,
      changed: () => this.schedule(),
    });
  }

  get usualHeight() {
    return AXIS + this.strips.length * STRIP + Math.min(this.header.cpus.length, 14) * LANE.usual + 6;
  }

  // Geometry, in device pixels.

  resize(width, height) {
    this.scale = window.devicePixelRatio || 1;
    const [across, down] = [width, height].map((size) => Math.max(Math.round(size * this.scale), 1));
    if (across !== this.canvas.width || down !== this.canvas.height) Object.assign(this.canvas, { width: across, height: down });
    this.schedule();
  }

  get left() {
    return Math.round(GUTTER * this.scale);
  }

  get columns() {
    return Math.max(this.canvas.width - this.left - Math.round(8 * this.scale), 1);
  }

  get lanesTop() {
    return Math.round((AXIS + this.strips.length * STRIP + 4) * this.scale);
  }

  get laneStep() {
    const room = (this.canvas.height - this.lanesTop) / this.header.cpus.length;
    return Math.floor(Math.min(Math.max(room, LANE.least * this.scale), LANE.most * this.scale));
  }

  get mostScroll() {
    return Math.max(this.laneStep * this.header.cpus.length - (this.canvas.height - this.lanesTop), 0);
  }

  laneOf(place) {
    const gap = Math.round(LANE.gap * this.scale);
    return { place, top: this.lanesTop + place * this.laneStep - Math.round(this.scroll), height: this.laneStep - gap };
  }

  // The index of the lane at a height; -1 above and below the lanes.
  placeAt(y) {
    if (y < this.lanesTop) return -1;
    const place = Math.floor((y - this.lanesTop + this.scroll) / this.laneStep);
    return place < this.header.cpus.length ? place : -1;
  }

  get span() {
    return this.view.end - this.view.begin;
  }

  timeAt(x) {
    return this.view.begin + ((x - this.left) / this.columns) * this.span;
  }

  xOf(ns) {
    return this.left + ((ns - this.view.begin) / this.span) * this.columns;
  }

  get level() {
    return this.store.levelFor(this.span / (this.columns / this.scale));
  }

  // Navigation.

  // Show a window around the same middle, with its length and ends clamped to the timeline.
  show(begin, end) {
    const span = this.clampedSpan(end - begin);
    this.put((begin + end - span) / 2, span);
  }

  zoom(factor, around = this.middle) {
    const span = this.clampedSpan(this.span * factor);
    // What is under the pointer stays under it.
    this.put(around - ((around - this.view.begin) / this.span) * span, span);
  }

  clampedSpan(span) {
    return Math.min(Math.max(span, Math.min(SHORTEST, this.whole)), this.whole);
  }

  put(begin, span) {
    const from = Math.min(Math.max(begin, 0), this.whole - span);
    this.view = { begin: from, end: from + span };
    this.schedule();
  }

  pan(ns) {
    this.show(this.view.begin + ns, this.view.end + ns);
  }

  // Keys zoom around the cursor if it is visible, or else the view's middle.
  get middle() {
    const { begin, end } = this.view;
    const at = this.cursor ? (this.cursor.begin + this.cursor.end) / 2 : NaN;
    return at > begin && at < end ? at : (begin + end) / 2;
  }

  // Go to a target, keeping the zoom unless the target would be a hair or not fit. isClose: zoom to
  // the target in any case.
  goTo(target, isClose = false) {
    const length = Math.max(target.end_ns - target.begin_ns, 1);
    const middle = (target.begin_ns + target.end_ns) / 2;
    const wide = isClose || length > this.span * 0.8 || length < this.span / 400 ? length * 8 : this.span;
    this.show(middle - wide / 2, middle + wide / 2);
    this.choose(Math.max(this.header.cpus.indexOf(target.cpu), 0), target.begin_ns, target.end_ns);
  }

  remember() {
    this.history.push({ view: this.view, cursor: this.cursor, place: this.place });
    if (this.history.length > MOST_REMEMBERED) this.history.shift();
  }

  back() {
    Object.assign(this, this.history.pop() ?? {});
    this.schedule();
  }

  choose(place, begin, end) {
    this.place = place;
    this.cursor = { place, begin, end };
    const { top, height } = this.laneOf(place);
    if (top < this.lanesTop) this.scroll -= this.lanesTop - top;
    else if (top + height > this.canvas.height) this.scroll += top + height - this.canvas.height;
    this.schedule();
  }

  // Select a window of some CPUs; null selects nothing.
  select(chosen) {
    this.selection = chosen;
    this.host.selected?.(chosen?.begin ?? null, chosen?.end ?? null, chosen?.cpus ?? []);
    this.schedule();
  }

  // What the loaded tiles have for a time on a CPU: its segment, or the shares of its bucket.
  at(place, ns) {
    const piece = this.store.pieces(this.level, ns, ns + 1).find(({ begin, end }) => ns >= begin && ns < end);
    const lane = piece?.tile.lanes[place];
    if (!lane) return null;
    const { tile } = piece;
    const opens = tile.begin + Math.floor((ns - tile.begin) / tile.width) * tile.width;
    const closes = Math.min(opens + tile.width, this.whole);
    const found = { begin: opens, end: closes, width: closes - opens, packets: 0, stolen: 0 };
    const bucket = { tile, begin: opens, end: closes };
    eachBucket(bucket, place, opens, closes, this.whole, (_, __, packets, stolen) => Object.assign(found, { packets, stolen }));
    found.mark = this.marks[place].find((mark) => mark.begin_ns <= ns && ns < mark.end_ns)?.what;
    if (!lane.isExact) return { ...found, shares: sharesOf(lane, (opens - tile.begin) / tile.width, closes - opens) };
    const segment = this.segmentAt(place, ns, tile.level);
    // An empty window has no segment.
    return segment && { ...found, ...segment };
  }

  // The segment in full if a loaded tile has it. A fine tile may have only a piece.
  segmentAt(place, ns, finest) {
    let widest = null;
    for (let level = finest; level <= this.store.maxLevel; level++) {
      const tile = this.store.get(level, Math.floor(ns / this.store.span(level)));
      const lane = tile?.lanes[place];
      if (!lane?.isExact) continue;
      const row = firstAbove(lane.end, ns);
      if (row === lane.length) continue;
      const [begin, end] = [lane.start[row], lane.end[row]];
      const closing = tile.begin + this.store.span(level);
      const isCut = (begin === tile.begin && begin > 0) || (end === closing && end < this.whole);
      widest = { begin, end, isCut, owner: lane.owner[row], task: lane.task[row] };
      if (!isCut) break;
    }
    return widest;
  }

  // Drawing.

  schedule() {
    if (this.isScheduled || this.isOver) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      if (!this.isOver) this.draw();
    });
  }

  draw() {
    const started = performance.now();
    // The browser may report a change of density late.
    if (window.devicePixelRatio !== this.scale) this.resize(this.canvas.clientWidth, this.canvas.clientHeight);
    const { context, canvas, view, left, columns, lanesTop, scale } = this;
    this.scroll = Math.min(Math.max(this.scroll, 0), this.mostScroll);
    this.askForTiles();
    const pieces = this.store.pieces(this.level, view.begin, view.end);
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.font = `${Math.round(11 * scale)}px ${FONT}`;
    const lanes = this.header.cpus.map((_, place) => this.laneOf(place));
    const seen = lanes.filter((lane) => lane.top + lane.height > lanesTop && lane.top < canvas.height);
    const height = canvas.height - lanesTop;
    if (height > 0) this.painter.paint(context, pieces, view, columns, seen, left, lanesTop, height);
    context.save();
    context.beginPath();
    context.rect(0, lanesTop, canvas.width, height);
    context.clip();
    for (const lane of seen) {
      Object.assign(context, { textAlign: "left", textBaseline: "middle" });
      this.painter.label(context, pieces, view, columns, lane, left, scale);
      drawMarks(context, this.marks[lane.place], view, columns, lane, left, scale);
      this.drawLaneName(lane);
    }
    this.drawChosen();
    context.restore();
    this.drawAbove(pieces);
    this.drawScrollbar();
    this.frames.push(performance.now() - started);
    if (this.frames.length > 1000) this.frames.shift();
    this.drawn();
  }

  drawLaneName(lane) {
    const { context, scale } = this;
    const isChosen = lane.place === this.place;
    context.fillStyle = isChosen ? CHOSEN : "#1a1a1a";
    if (isChosen) context.fillRect(0, lane.top, 3 * scale, lane.height);
    context.fillText(`CPU ${this.header.cpus[lane.place]}`, 10 * scale, lane.top + lane.height / 2);
  }

  drawAbove(pieces) {
    const { context, view, scale, left, columns, header } = this;
    const box = (top, height) => ({ left, width: columns, top: Math.round(top * scale), height: Math.round(height * scale) });
    const boxes = Object.fromEntries(this.strips.map((name, place) => [name, box(AXIS + place * STRIP, STRIP - 3)]));
    drawAxis(context, view, box(0, AXIS - 2), this.canvas.height, scale);
    const bins = (this.bins = binned(pieces, view, columns / scale, header.cpus.length, this.whole));
    const colours = { packets: header.colours.kind.softirq, stolen: header.colours.part.stolen_network };
    this.stripsSaid = drawStrips(context, bins, view, boxes, columns, scale, header, colours);
  }

  // The selection and the cursor, over the lanes.
  drawChosen() {
    const { context, scale } = this;
    const draw = (chosen, place, colour, thick) => {
      const lane = this.laneOf(place);
      const from = Math.max(this.xOf(chosen.begin), this.left - thick);
      const until = Math.min(Math.max(this.xOf(chosen.end), from + 2 * scale), this.left + this.columns + thick);
      if (until < this.left || from > this.left + this.columns) return;
      Object.assign(context, { strokeStyle: colour, lineWidth: thick });
      context.strokeRect(from, lane.top + thick / 2, until - from, lane.height - thick);
      return [from, lane.top, until - from, lane.height];
    };
    for (const cpu of this.selection?.cpus ?? []) {
      const box = draw(this.selection, this.header.cpus.indexOf(cpu), CHOSEN, scale);
      context.fillStyle = "rgba(0,114,178,0.12)";
      if (box) context.fillRect(...box);
    }
    if (this.cursor) draw(this.cursor, this.cursor.place, "#000000", 2 * scale);
  }

  drawScrollbar() {
    const { context, canvas, mostScroll, lanesTop, scale } = this;
    if (mostScroll <= 0) return;
    const room = canvas.height - lanesTop;
    const tall = (room * room) / (room + mostScroll);
    context.fillStyle = "rgba(107,114,128,0.6)";
    context.fillRect(canvas.width - 6 * scale, lanesTop + (this.scroll / mostScroll) * (room - tall), 4 * scale, tall);
  }

  // Load the visible tiles, from the middle out, then those that zooming out will show.
  askForTiles() {
    const { store, level } = this;
    const wanted = [[store.maxLevel, 0]];
    for (let up = 0; up <= 2 && level + up <= store.maxLevel; up++) {
      const [first, last] = store.range(level + up, this.view.begin, this.view.end);
      const indexes = Array.from({ length: last - first + 1 }, (_, at) => first + at);
      indexes.sort((one, other) => Math.abs(one - (first + last) / 2) - Math.abs(other - (first + last) / 2));
      wanted.push(...indexes.map((index) => [level + up, index]));
    }
    store.want(wanted);
  }
}

function sharesOf(lane, bucket, width) {
  const shares = [];
  for (let row = 0; row < lane.length; row++) {
    if (lane.bucket[row] === bucket) shares.push({ owner: lane.owner[row], share: lane.ns[row] / width });
  }
  return shares.sort((one, other) => other.share - one.share);
}
