// Around the canvas: buttons, messages, and requests to the host.

import { KEYS_HELP, Pointer, pressKey } from "./hands.js";
import { STYLE, fillDetail, fillLegend, fillSeen, fillTable, hoverLines, make, shareRows } from "./panels.js";
import { Scene } from "./scene.js";
import { absoluteInstant, duration, instant, printable } from "./text.js";
import { sums } from "./tiles.js";

const LINK_NAMES = { interrupt: "The interrupt", raiser: "What raised it", episode: "Its next episode", migration: "Its other CPU" };
// The status line waits until the view has been at rest for this long.
const REST_MS = 200;
const MOST_FOUND = 1000;

function button(text, title, click, more = {}) {
  return make("button", { type: "button", text, title, onclick: click, ...more });
}

export class Desk {
  constructor(element, host) {
    const { header } = host;
    this.host = host;
    this.header = header;
    this.found = [];
    this.message = "";
    const about = `Timeline of ${printable(header.capture)}: who had each of ${header.cpus.length} CPUs, ${duration(header.duration_ns)}. ${KEYS_HELP}`;
    this.canvas = make("canvas", { tabindex: "0", role: "application", "aria-label": about });
    this.stage = make("div", { class: "netcost-stage" }, this.canvas);
    this.status = make("div", { class: "netcost-status", role: "status", "aria-live": "polite" });
    this.legend = make("ul", { class: "netcost-legend", "aria-label": "Legend" });
    this.table = make("table", {});
    this.tablePanel = make("section", { hidden: true, "aria-label": "Table of what is seen" }, this.table);
    this.detailPanel = make("section", { hidden: true, class: "netcost-detail", "aria-label": "This place" });
    const below = make("div", { class: "netcost-below" }, this.detailPanel, this.tablePanel);
    this.root = make("section", { class: `netcost-view${host.fills ? " fills" : ""}`, "aria-label": "Timeline" });
    this.root.append(make("style", { text: STYLE }), this.bar(), this.stage, this.status, this.legend, below, ...this.notes());
    element.replaceChildren(this.root);
    this.scene = new Scene(this.canvas, host, () => this.tellLater());
    if (!host.fills) this.stage.style.height = `${this.scene.usualHeight}px`;
    fillLegend(this.legend, this.scene.painter.classes);
    this.ending = new AbortController();
    const { signal } = this.ending;
    this.pointer = new Pointer(this.scene, this, this.stage, signal);
    this.canvas.addEventListener("keydown", (event) => pressKey(event, this.scene, this), { signal });
    const resize = () => this.scene.resize(this.stage.clientWidth, this.stage.clientHeight);
    this.resizing = new ResizeObserver(resize);
    this.resizing.observe(this.stage);
    // The pixel density may change without the size.
    const dense = () => {
      resize();
      matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", dense, { signal, once: true });
    };
    dense();
    if (host.at) this.scene.goTo(host.at, true);
  }

  bar() {
    const cannot = this.host.find ? {} : { disabled: true };
    const why = this.host.find ? "Owners and tasks whose name contains it" : "A page by itself holds too little to search: netcost view PATH does";
    this.searchBox = make("input", { type: "search", size: "16", placeholder: "task, device, irq", "aria-label": "Search for an owner or task", title: why, ...cannot });
    this.searchBox.addEventListener("input", () => (this.found = []));
    this.searchBox.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.shiftKey ? this.searchBack() : this.search();
      else if (event.key === "Escape") this.canvas.focus();
    });
    const modes = [["kind", "what ran"], ["part", "at whose cost"]].map(([value, text]) => make("option", { value, text }));
    this.modes = make("select", { "aria-label": "Colours", onchange: () => this.setMode(this.modes.value) }, ...modes);
    this.tableButton = button("Table", "Shares of what is seen, by CPU and owner", () => this.toggleTable(), { "aria-expanded": "false" });
    this.backButton = button("Back", "To where you were before", () => this.back(), { disabled: true });
    return make(
      "div",
      { class: "netcost-bar", role: "toolbar", "aria-label": "Timeline" },
      make("h1", { text: printable(this.header.capture), title: printable(this.header.capture) }),
      this.searchBox,
      button("Previous", "The one found before", () => this.searchBack(), cannot),
      button("Next", "The next one", () => this.search(), cannot),
      make("label", {}, "Colours: ", this.modes),
      button("+", "Zoom in", () => this.scene.zoom(0.5), { "aria-label": "Zoom in" }),
      button("−", "Zoom out", () => this.scene.zoom(2), { "aria-label": "Zoom out" }),
      button("All", "The whole window", () => this.scene.show(0, this.scene.whole)),
      this.backButton,
      this.tableButton,
      make("details", {}, make("summary", { text: "Keys" }), make("div", { text: KEYS_HELP })),
    );
  }

  notes() {
    const { notes } = this.header;
    if (!notes.length) return [];
    const list = make("ul", {}, ...notes.map((note) => make("li", { text: printable(note) })));
    return [make("details", { class: "netcost-notes" }, make("summary", { text: `Notes: ${notes.length}` }), list)];
  }

  destroy() {
    this.scene.isOver = true;
    this.ending.abort();
    this.resizing.disconnect();
    clearTimeout(this.telling);
    this.root.remove();
  }

  setMode(mode) {
    this.modes.value = mode;
    this.scene.painter.setMode(mode);
    fillLegend(this.legend, this.scene.painter.classes);
    this.scene.schedule();
  }

  // Messages.

  notice(text) {
    this.message = text;
    this.scene.schedule();
  }

  tellLater() {
    this.backButton.disabled = this.scene.history.length === 0;
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.tell(), REST_MS);
  }

  tell() {
    const { view, span, whole, selection, store, stripsSaid } = this.scene;
    const parts = [this.message, this.header.duration_ns ? `${instant(view.begin)} to ${instant(view.end)}: ${duration(span)} of ${duration(whole)}, which begin at ${absoluteInstant(this.header.begin_ns)}` : "there is no time to show"];
    if (selection) parts.push(`selected ${duration(selection.end - selection.begin)} from ${instant(selection.begin)}, CPU ${selection.cpus.join(", ")}`);
    parts.push(...stripsSaid);
    if (store.error) parts.push(`what is finer could not be loaded: ${printable(store.error)}`);
    const text = parts.filter(Boolean).join(" · ");
    if (this.status.textContent !== text) this.status.textContent = text;
    if (!this.tablePanel.hidden) this.fillShares();
  }

  describe(place, found) {
    if (found) this.notice(hoverLines(this.header, this.header.cpus[place], found).map(([, text]) => text).join(", "));
  }

  // The cursor: the stretch of a CPU that keys move to.

  get here() {
    const { cursor, place, view } = this.scene;
    return Math.floor(cursor?.place === place ? cursor.begin : (view.begin + view.end) / 2);
  }

  step(by) {
    const place = Math.min(Math.max(this.scene.place + by, 0), this.header.cpus.length - 1);
    const ns = Math.min(Math.max(this.here, 0), this.scene.whole - 1);
    const found = this.scene.at(place, ns);
    this.scene.choose(place, found?.begin ?? ns, found?.end ?? ns + 1);
    this.describe(place, found);
  }

  neighbour(by) {
    const { scene } = this;
    const { cursor, place } = scene;
    const at = cursor?.place === place ? cursor : { begin: this.here, end: this.here };
    const ns = by > 0 ? at.end : at.begin - 1;
    const found = ns >= 0 && ns < scene.whole ? scene.at(place, ns) : null;
    if (!found) return this.notice("nothing beyond");
    const middle = (found.begin + found.end) / 2;
    if (middle < scene.view.begin || middle > scene.view.end) scene.show(middle - scene.span / 2, middle + scene.span / 2);
    scene.choose(place, found.begin, found.end);
    this.describe(place, found);
  }

  // Move the end of the selection that is not its anchor.
  extend(ns) {
    const { scene } = this;
    const at = this.here;
    const { anchor, end: moving, cpus } = scene.selection?.anchor === undefined ? { anchor: at, end: at, cpus: [this.header.cpus[scene.place]] } : { ...scene.selection, end: scene.selection.moving };
    const until = Math.round(Math.min(Math.max(moving + ns, 0), scene.whole));
    const [begin, end] = [Math.min(anchor, until), Math.max(anchor, until)];
    scene.select({ begin, end: Math.max(end, begin + 1), cpus, anchor, moving: until });
  }

  fit() {
    const target = this.scene.selection ?? this.scene.cursor;
    if (!target) return;
    this.scene.remember();
    const room = (target.end - target.begin) * 0.05;
    this.scene.show(target.begin - room, target.end + room);
  }

  back() {
    this.scene.back();
  }

  clear() {
    this.message = "";
    this.scene.cursor = null;
    this.detailPanel.hidden = true;
    if (this.scene.selection) this.scene.select(null);
    this.scene.schedule();
  }

  // Requests to the host.

  async inspect(place, ns) {
    const cpu = this.header.cpus[place];
    const ticket = (this.ticket = {});
    const found = this.scene.at(place, ns);
    const detail = await this.detail(cpu, ns);
    // Another place has been requested meanwhile.
    if (ticket !== this.ticket) return;
    const links = (detail?.links ?? []).map((link) => this.linkButton(cpu, ns, link));
    if (detail) fillDetail(this.detailPanel, this.header, detail, links);
    else fillSeen(this.detailPanel, found ? hoverLines(this.header, cpu, found) : []);
    this.detailPanel.hidden = false;
    if (detail?.segment) this.scene.choose(place, detail.segment.begin_ns, detail.segment.end_ns);
    this.describe(place, found);
  }

  async detail(cpu, ns) {
    return this.host.detail ? this.asked(this.host.detail(cpu, ns)) : null;
  }

  linkButton(cpu, ns, link) {
    const go = async (event) => {
      const found = await this.asked(this.host.follow(cpu, ns, link));
      if (found === undefined) return;
      if (found) this.visit(found);
      else {
        event.target.disabled = true;
        this.notice(`${LINK_NAMES[link] ?? link}: none is known`);
      }
    };
    return button(LINK_NAMES[link] ?? printable(link), "", go, { "data-link": link });
  }

  visit(target, isClose = false) {
    this.scene.remember();
    this.scene.goTo(target, isClose);
    this.inspect(this.scene.place, Math.min(Math.max(target.begin_ns, 0), this.scene.whole - 1));
  }

  // The answer; on an error undefined, with a message.
  async asked(promise) {
    try {
      return await promise;
    } catch (error) {
      this.notice(printable(error?.message ?? error));
      return undefined;
    }
  }

  async search() {
    const text = this.searchBox.value.trim();
    if (!text || !this.host.find) return;
    const last = this.found.at(-1);
    const after = last ? last.begin_ns : Math.floor(this.scene.view.begin) - 1;
    const found = await this.asked(this.host.find(text, after, null));
    if (found === undefined) return;
    if (!found) return this.notice(`no ${last ? "other " : ""}${printable(text)} after ${instant(Math.max(after, 0))}`);
    this.found.push(found);
    if (this.found.length > MOST_FOUND) this.found.shift();
    this.visit(found);
  }

  searchBack() {
    if (this.found.length < 2) return this.notice("none was found before");
    this.found.pop();
    this.visit(this.found.at(-1));
  }

  // The table covers the selection, or else the visible window.

  toggleTable() {
    this.tablePanel.hidden = !this.tablePanel.hidden;
    this.tableButton.setAttribute("aria-expanded", String(!this.tablePanel.hidden));
    if (!this.tablePanel.hidden) this.fillShares();
  }

  shares() {
    const { scene, header } = this;
    const { begin, end, cpus } = scene.selection ?? { ...scene.view, cpus: header.cpus };
    const found = scene.store.wholeBuckets(scene.level, begin, end);
    if (!found) return null;
    const places = cpus.map((cpu) => header.cpus.indexOf(cpu));
    const level = Math.max(...found.pieces.map((piece) => piece.tile.level));
    return { begin: found.begin, end: found.end, level, rows: shareRows(header, sums(found, places, scene.whole), found) };
  }

  fillShares() {
    const found = this.shares();
    if (found) fillTable(this.table, found.rows, found);
  }
}
