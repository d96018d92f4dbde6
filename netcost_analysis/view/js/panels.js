// Beside the canvas: controls, legend, the table of shares, and details of the place clicked. Names
// come from the capture, so they are only ever set as text.

import { duration, grouped, instant, percent, printable } from "./text.js";
import { ownerName, taskName } from "./lanes.js";

const MOST_ROWS = 500;

export const STYLE = `
.netcost-view { color-scheme: light; display: flex; flex-direction: column; box-sizing: border-box; width: 100%; background: #fff; color: #1a1a1a; font: 13px/1.4 "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif; }
.netcost-view * { box-sizing: border-box; }
.netcost-view.fills { height: 100vh; }
.netcost-view [hidden] { display: none !important; }
.netcost-bar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; padding: 6px 8px; border-bottom: 1px solid #e3e6e8; }
.netcost-bar h1 { font-size: 14px; margin: 0 8px 0 0; max-width: 40%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.netcost-view button, .netcost-view select, .netcost-view input { font: inherit; color: inherit; background: #fff; border: 1px solid #9aa3ab; border-radius: 4px; padding: 2px 8px; }
.netcost-view button:disabled, .netcost-view input:disabled { color: #6b7280; background: #f4f4f4; }
.netcost-view button[aria-pressed=true], .netcost-view button[aria-expanded=true] { background: #e3edf5; }
.netcost-view :focus-visible { outline: 3px solid #0072b2; outline-offset: 1px; }
.netcost-stage { position: relative; min-height: 160px; }
.fills .netcost-stage { flex: 1 1 auto; min-height: 120px; }
.netcost-stage canvas { display: block; position: absolute; inset: 0; width: 100%; height: 100%; cursor: crosshair; touch-action: none; }
.netcost-stage canvas:focus-visible { outline-offset: -3px; }
.netcost-tip { position: absolute; z-index: 2; pointer-events: none; max-width: 420px; background: #fff; border: 1px solid #6b7280; border-radius: 4px; padding: 4px 8px; box-shadow: 0 2px 6px rgba(0,0,0,.2); font-size: 12px; }
.netcost-tip b { font-weight: 600; overflow-wrap: anywhere; }
.netcost-tip div { overflow-wrap: anywhere; }
.netcost-status { padding: 3px 8px; color: #39414a; font-size: 12px; min-height: 24px; border-top: 1px solid #e3e6e8; font-variant-numeric: tabular-nums; }
.netcost-legend { display: flex; flex-wrap: wrap; gap: 2px 14px; list-style: none; margin: 0; padding: 3px 8px; font-size: 12px; }
.netcost-legend li { display: flex; align-items: center; gap: 5px; }
.netcost-swatch { display: inline-block; flex: none; width: 14px; height: 12px; border: 1px solid #9aa3ab; }
.netcost-swatch.unknown { background-image: repeating-linear-gradient(-45deg, #9aa3ab 0 1px, transparent 1px 4px); }
.netcost-below { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 12px; padding: 0 8px; max-height: 45vh; overflow: auto; }
.netcost-below > * { flex: 1 1 340px; min-width: 0; }
.netcost-below h2 { font-size: 13px; margin: 6px 0 4px; }
.netcost-view table { border-collapse: collapse; font-size: 12px; width: 100%; font-variant-numeric: tabular-nums; }
.netcost-view caption { text-align: left; padding: 2px 0; }
.netcost-view thead th { white-space: nowrap; }
.netcost-view th, .netcost-view td { text-align: left; padding: 1px 10px 1px 0; border-bottom: 1px solid #eceff1; overflow-wrap: anywhere; vertical-align: top; }
.netcost-view .number { text-align: right; white-space: nowrap; }
.netcost-view dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 10px; margin: 0 0 6px; font-size: 12px; }
.netcost-view dt { color: #5b6470; }
.netcost-view dd { margin: 0; overflow-wrap: anywhere; }
.netcost-detail { columns: 300px; column-gap: 24px; }
.netcost-detail h2 { break-after: avoid; }
.netcost-detail dl { break-inside: avoid; }
.netcost-links { display: flex; flex-wrap: wrap; gap: 6px; padding: 4px 0 8px; }
.netcost-notes { margin: 0; padding: 2px 8px 6px; font-size: 12px; color: #39414a; }
.netcost-notes ul { margin: 0; padding-left: 18px; }
`;

// Elements that take the focus. They suppress JupyterLab's shortcuts, which add and delete cells.
const FOCUSED = new Set(["button", "canvas", "input", "select", "summary"]);

export function make(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  if (FOCUSED.has(tag)) element.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function swatch(colour, isUnknown) {
  const box = make("span", { class: isUnknown ? "netcost-swatch unknown" : "netcost-swatch", "aria-hidden": "true" });
  box.style.backgroundColor = colour;
  return box;
}

export function fillLegend(list, classes) {
  list.replaceChildren(
    ...classes.keys.map((key, at) => make("li", {}, swatch(classes.colours[at], at === classes.unknown), make("span", { text: classes.names[at] }))),
    make("li", {}, swatch("#a4133c", false), make("span", { text: "lost, or not to be seen" })),
  );
}

// The rows of the table: exact sums by CPU and owner.
export function shareRows(header, sums, whole) {
  const span = whole.end - whole.begin;
  return sums.map(({ place, owner, ns }) => {
    const { kind, part } = header.owners[owner];
    return {
      cpu: header.cpus[place],
      number: owner,
      owner: ownerName(header, owner),
      kind: header.names.kind[kind] ?? kind,
      part: header.names.part[part] ?? part ?? "",
      ns,
      share: span ? ns / span : 0,
    };
  });
}

export function fillTable(table, rows, whole) {
  const head = ["CPU", "owner", "what ran", "at whose cost", "ns", "share"];
  const caption = `${instant(whole.begin)} to ${instant(whole.end)}, whole buckets of ${duration(2 ** whole.level)}: each CPU adds up to ${grouped(whole.end - whole.begin)} ns`;
  const body = rows.slice(0, MOST_ROWS).map((row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row", text: row.cpu }),
      make("td", { text: row.owner }),
      make("td", { text: row.kind }),
      make("td", { text: row.part }),
      make("td", { class: "number", text: grouped(row.ns) }),
      make("td", { class: "number", text: percent(row.share) }),
    ),
  );
  if (rows.length > MOST_ROWS) {
    body.push(make("tr", {}, make("td", { colspan: "6", text: `and ${grouped(rows.length - MOST_ROWS)} more rows: zoom in for fewer` })));
  }
  table.replaceChildren(
    make("caption", { text: caption }),
    make("thead", {}, make("tr", {}, ...head.map((text, at) => make("th", { scope: "col", class: at > 3 ? "number" : "", text })))),
    make("tbody", {}, ...body),
  );
}

// Owners may share an interrupt's name, so add at whose cost it ran.
function shareName(header, owner) {
  const { kind, part } = header.owners[owner];
  const isPlain = ["task", "victim", "idle", "unknown"].includes(kind);
  return ownerName(header, owner) + (isPlain ? "" : ` (${header.names.part[part] ?? part})`);
}

// What a tile has for a place: its segment, or the shares of its bucket.
export function hoverLines(header, cpu, found) {
  const lines = [];
  if (found.owner !== undefined) {
    const owner = header.owners[found.owner];
    lines.push(["b", ownerName(header, found.owner)]);
    const kind = header.names.kind[owner.kind] ?? owner.kind;
    const part = ["victim", "idle", "unknown"].includes(owner.kind) ? "" : header.names.part[owner.part];
    lines.push(["div", [`CPU ${cpu}`, kind, part].filter(Boolean).join(" · ")]);
    if (owner.device) lines.push(["div", `device ${printable(owner.device)}`]);
    const task = taskName(header, found.task);
    if (task && !["task", "victim", "idle"].includes(owner.kind)) lines.push(["div", `on top of ${task}`]);
    lines.push(["div", `${found.isCut ? "at least " : ""}${duration(found.end - found.begin)}, from ${instant(found.begin)}`]);
  } else {
    lines.push(["b", `CPU ${cpu}: shares of ${duration(found.end - found.begin)}`]);
    for (const { owner, share } of found.shares.slice(0, 7)) lines.push(["div", `${percent(share)} ${shareName(header, owner)}`]);
    if (found.shares.length > 7) lines.push(["div", `and ${found.shares.length - 7} more`]);
    lines.push(["div", `from ${instant(found.begin)}`]);
  }
  // These are the bucket's, which may be shorter than the segment.
  const beside = [];
  if (found.packets) beside.push(`${grouped(found.packets)} ${found.packets === 1 ? "packet" : "packets"}`);
  if (found.stolen) beside.push(`${duration(found.stolen)} stolen by network`);
  if (beside.length) lines.push(["div", `in this ${duration(found.width)}: ${beside.join(", ")}`]);
  if (found.mark) lines.push(["div", `not seen: ${printable(found.mark)}`]);
  return lines;
}

// What the host's detail adds to hoverLines().
export function packetLines({ poll, softirq }) {
  const lines = [];
  if (poll) lines.push(["div", `a poll of ${grouped(poll.work ?? 0)} of ${grouped(poll.budget ?? 0)} packets, ${duration(poll.end_ns - poll.begin_ns)}`]);
  if (softirq) lines.push(["div", `${printable(softirq.action)}${softirq.packets ? ` of ${grouped(softirq.packets)} packets` : ""}, ${printable(softirq.cost_class ?? "")} (origin ${printable(softirq.origin ?? "unknown")})`]);
  return lines;
}

// These times of a detail are instants; all others are durations.
const INSTANTS = new Set(["time_ns", "begin_ns", "end_ns", "raise_ns", "wake_ns"]);
const GROUPS = { segment: "segment", softirq: "softirq", poll: "NAPI poll", interrupt: "interrupt that raised it", slice: "slice of the task on the CPU" };

function fieldText(header, name, value) {
  if (name === "owner") return ownerName(header, value);
  if (name === "task") return taskName(header, value) || "nobody";
  if (INSTANTS.has(name)) return instant(value);
  if (name.endsWith("_ns")) return `${duration(value)}${value >= 1000 ? ` (${grouped(value)} ns)` : ""}`;
  return printable(value);
}

function pairs(header, group) {
  const list = make("dl");
  const add = (name, text) => list.append(make("dt", { text: name.replace(/_ns$/, "").replaceAll("_", " ") }), make("dd", { text }));
  for (const [name, value] of Object.entries(group)) {
    if (value === null || value === undefined || value === "" || typeof value === "object") continue;
    add(printable(name), fieldText(header, name, value));
  }
  if (typeof group.begin_ns === "number" && typeof group.end_ns === "number") add("length", fieldText(header, "length_ns", group.end_ns - group.begin_ns));
  return list;
}

// What the host knows of a place, in groups.
export function fillDetail(panel, header, detail, links) {
  const made = [make("h2", { text: `CPU ${detail.cpu} at ${instant(detail.time_ns)}` })];
  made.push(make("div", { class: "netcost-links" }, ...links));
  for (const [name, title] of Object.entries(GROUPS)) {
    if (detail[name]) made.push(make("h2", { text: title }), pairs(header, detail[name]));
  }
  panel.replaceChildren(...made);
}

// What a page without a host knows of a place.
export function fillSeen(panel, lines) {
  panel.replaceChildren(make("h2", { text: "This place" }), ...lines.map(([, text]) => make("div", { text })), make("p", { text: "A page by itself holds no more: netcost view PATH does." }));
}
