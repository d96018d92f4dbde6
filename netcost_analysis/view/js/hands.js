// Mouse and keys call methods of the scene and the desk.

import { hoverLines, make, packetLines } from "./panels.js";

export const KEYS_HELP =
  "Keys: + and - or W and S zoom, left and right or A and D pan, up and down choose a CPU, comma and full stop go to the stretch before and after, " +
  "Enter shows what is known of it, Shift with left and right selects, F zooms to what is selected, B goes back, Home shows all, slash searches, N goes to the next found, T opens the table. " +
  "Mouse: the wheel zooms, with Shift it pans, drag pans, Shift and drag selects, a click asks.";

// A press that moves by fewer CSS pixels than this is a click.
const STILL = 3;
// The pointer rests this long before the host is asked for more.
const REST_ON_MS = 300;

export class Pointer {
  constructor(scene, desk, stage, signal) {
    Object.assign(this, { scene, desk, stage, drag: null, last: null });
    this.tip = make("div", { class: "netcost-tip", hidden: true, "aria-hidden": "true" });
    stage.append(this.tip);
    const acts = {
      wheel: (event) => this.wheel(event),
      pointerdown: (event) => this.press(event),
      pointermove: (event) => {
        this.last = this.point(event);
        this.move(event);
      },
      pointerup: (event) => this.release(event),
      pointercancel: () => this.stop(),
      pointerleave: () => {
        this.last = null;
        if (!this.drag) this.hideTip();
      },
    };
    for (const [name, act] of Object.entries(acts)) scene.canvas.addEventListener(name, act, { signal, passive: false });
  }

  // The time under the pointer; undefined if it is elsewhere.
  get time() {
    return this.last ? this.scene.timeAt(this.last.x) : undefined;
  }

  point(event) {
    const box = this.scene.canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) * this.scene.scale, y: (event.clientY - box.top) * this.scene.scale };
  }

  wheel(event) {
    const { scene } = this;
    // Within a larger page, the wheel scrolls the page until the timeline has the focus.
    if ((!scene.host.fills || scene.host.scrolls) && document.activeElement !== scene.canvas && !event.ctrlKey) return;
    event.preventDefault();
    const unit = [1, 33, 400][event.deltaMode] ?? 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      scene.pan(((event.deltaX || event.deltaY) * unit * scene.scale * scene.span) / scene.columns);
    } else {
      const turned = Math.min(Math.max(event.deltaY * unit, -400), 400);
      scene.zoom(Math.exp(turned * 0.002), scene.timeAt(this.point(event).x));
    }
    this.hideTip();
  }

  press(event) {
    if (event.button !== 0) return;
    const { scene } = this;
    scene.canvas.focus();
    scene.canvas.setPointerCapture(event.pointerId);
    const from = this.point(event);
    this.drag = { from, view: scene.view, scroll: scene.scroll, selects: event.shiftKey, before: scene.selection, moved: false };
  }

  move(event) {
    const at = this.point(event);
    const { drag, scene } = this;
    if (!drag) return this.hover(at);
    drag.moved ||= Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > STILL * scene.scale;
    if (!drag.moved) return;
    this.hideTip();
    if (drag.selects) {
      // The host hears of the selection when the drag ends.
      scene.selection = this.covered(at);
      return scene.schedule();
    }
    scene.scroll = drag.scroll + drag.from.y - at.y;
    const ns = ((drag.from.x - at.x) / scene.columns) * (drag.view.end - drag.view.begin);
    scene.show(drag.view.begin + ns, drag.view.end + ns);
  }

  release(event) {
    const { drag } = this;
    if (!drag) return;
    const at = this.point(event);
    this.drag = null;
    if (!drag.moved) this.click(at);
    else if (drag.selects) this.scene.select(this.scene.selection);
  }

  stop() {
    if (this.drag?.selects) this.scene.selection = this.drag.before;
    this.drag = null;
    this.scene.schedule();
  }

  // The time and CPUs that a drag with Shift covers; above the lanes it covers all CPUs.
  covered(at) {
    const { scene } = this;
    const { from } = this.drag;
    const inside = (x) => Math.min(Math.max(Math.round(scene.timeAt(x)), 0), scene.whole);
    const [begin, end] = [inside(from.x), inside(at.x)].sort((one, other) => one - other);
    const [top, bottom] = [from.y, at.y].sort((one, other) => one - other);
    const { cpus } = scene.header;
    const placed = (y) => Math.min(Math.max(Math.floor((y - scene.lanesTop + scene.scroll) / scene.laneStep), 0), cpus.length - 1);
    const chosen = bottom < scene.lanesTop ? cpus : cpus.slice(placed(top), placed(bottom) + 1);
    return { begin, end: Math.max(end, begin + 1), cpus: [...chosen] };
  }

  // The lane and time under the pointer.
  under({ x, y }) {
    const { scene } = this;
    const place = scene.placeAt(y);
    const ns = Math.floor(scene.timeAt(x));
    const isInside = place >= 0 && x >= scene.left && x < scene.left + scene.columns && ns >= 0 && ns < scene.whole;
    return isInside ? { place, ns, found: scene.at(place, ns) } : null;
  }

  click(at) {
    const under = this.under(at);
    if (!under) return;
    if (under.found) this.scene.choose(under.place, under.found.begin, under.found.end);
    this.desk.inspect(under.place, under.ns);
  }

  hover(at) {
    clearTimeout(this.resting);
    const under = this.under(at);
    if (!under?.found) return this.hideTip();
    const { header, scale } = this.scene;
    this.showTip(hoverLines(header, header.cpus[under.place], under.found), at.x / scale, at.y / scale);
    if (under.found.owner !== undefined) this.resting = setTimeout(() => this.askMore(under, at), REST_ON_MS);
  }

  // The host knows the packets of a poll or softirq.
  async askMore({ place, ns, found }, at) {
    const { header, scale } = this.scene;
    const ticket = this.resting;
    const detail = await this.desk.detail(header.cpus[place], ns);
    if (!detail || ticket !== this.resting || this.tip.hidden) return;
    this.showTip([...hoverLines(header, header.cpus[place], found), ...packetLines(detail)], at.x / scale, at.y / scale);
  }

  showTip(lines, left, top) {
    this.tip.replaceChildren(...lines.map(([tag, text]) => make(tag, { text })));
    this.tip.hidden = false;
    const { clientWidth, clientHeight } = this.stage;
    // Use the side with more room.
    const isRight = left > clientWidth / 2;
    this.tip.style.left = isRight ? "auto" : `${left + 14}px`;
    this.tip.style.right = isRight ? `${clientWidth - left + 14}px` : "auto";
    this.tip.style.top = `${Math.max(Math.min(top + 12, clientHeight - this.tip.offsetHeight - 2), 0)}px`;
  }

  hideTip() {
    clearTimeout(this.resting);
    this.tip.hidden = true;
  }
}

// Keys with Ctrl, Alt or Meta belong to the browser.
export function pressKey(event, scene, desk) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const part = scene.span / 8;
  const slow = scene.span / 50;
  const acts = {
    "+": () => scene.zoom(0.5),
    "=": () => scene.zoom(0.5),
    "-": () => scene.zoom(2),
    w: () => scene.zoom(0.7, desk.pointer.time),
    s: () => scene.zoom(1 / 0.7, desk.pointer.time),
    a: () => scene.pan(-part),
    d: () => scene.pan(part),
    ArrowLeft: () => (event.shiftKey ? desk.extend(-slow) : scene.pan(-part)),
    ArrowRight: () => (event.shiftKey ? desk.extend(slow) : scene.pan(part)),
    ArrowUp: () => desk.step(-1),
    ArrowDown: () => desk.step(1),
    PageUp: () => desk.step(-8),
    PageDown: () => desk.step(8),
    Home: () => scene.show(0, scene.whole),
    ",": () => desk.neighbour(-1),
    ".": () => desk.neighbour(1),
    Enter: () => desk.inspect(scene.place, desk.here),
    f: () => desk.fit(),
    t: () => desk.toggleTable(),
    b: () => desk.back(),
    Backspace: () => desk.back(),
    "/": () => desk.searchBox.focus(),
    n: () => (event.shiftKey ? desk.searchBack() : desk.search()),
    Escape: () => desk.clear(),
  };
  const act = acts[event.key] ?? acts[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  // The tip is about what was under the pointer before.
  desk.pointer.hideTip();
  act();
}
