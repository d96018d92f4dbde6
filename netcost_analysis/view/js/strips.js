// The time axis, strips of packets and stolen share above the lanes, and marks for gaps in the record.

import { eachBucket } from "./tiles.js";
import { duration, instant, percent, rate, tickLabels } from "./text.js";

const BIN_PIXELS = 3;
// In bins below this many ns a rate would be a guess, so packets are counted.
const RATE_FROM = 1e5;

// Packets and stolen ns of all CPUs in bins of 2^k ns, at least as wide as their buckets.
export function binned(pieces, view, columns, cpus, whole) {
  const perPixel = (view.end - view.begin) / columns;
  const finest = Math.max(1, ...pieces.map((piece) => piece.tile.width));
  const width = Math.max(2 ** Math.ceil(Math.log2(perPixel * BIN_PIXELS)), finest);
  const first = Math.floor(view.begin / width);
  const count = Math.max(Math.ceil(view.end / width) - first, 1);
  const packets = new Float64Array(count);
  const stolen = new Float64Array(count);
  const from = first * width;
  for (const piece of pieces) {
    for (let place = 0; place < cpus; place++) {
      eachBucket(piece, place, from, from + count * width, whole, (begin, _, polled, ns) => {
        const bin = Math.floor(begin / width) - first;
        if (bin < 0 || bin >= count) return;
        packets[bin] += polled;
        stolen[bin] += ns;
      });
    }
  }
  // The last bin ends with the timeline.
  const lengths = Float64Array.from(packets, (_, bin) => Math.min(width, whole - from - bin * width));
  return { first, width, count, packets, stolen, lengths };
}

// The highest value per ns. Full bins are preferred, as a short last bin may be far above them.
export function highest(bins, values) {
  const all = [...values.keys()];
  const full = all.filter((bin) => bins.lengths[bin] === bins.width);
  return Math.max(0, ...(full.length ? full : all).map((bin) => values[bin] / bins.lengths[bin]));
}

function bars(context, bins, values, most, view, box, perNs, colour) {
  if (!most) return;
  context.fillStyle = colour;
  for (let bin = 0; bin < bins.count; bin++) {
    if (!values[bin]) continue;
    const opens = (bins.first + bin) * bins.width;
    const from = Math.max(Math.round((opens - view.begin) * perNs), 0);
    const until = Math.min(Math.round((opens + bins.width - view.begin) * perNs), box.width);
    const tall = Math.min(Math.max((values[bin] / bins.lengths[bin] / most) * box.height, 1), box.height);
    if (until > from) context.fillRect(box.left + from, box.top + box.height - tall, until - from, tall);
  }
}

// The strips that have anything to show in the timeline.
export function stripsOf({ owners, absent }) {
  const has = {
    packets: owners.some(({ kind }) => kind === "poll" || kind === "softirq"),
    stolen: owners.some(({ part }) => part === "stolen_network"),
  };
  return Object.keys(has).filter((name) => has[name] && !absent[name]);
}

// Strips, labelled in the gutter with name and highest value. A strip without a box is only in the returned texts.
export function drawStrips(context, bins, view, boxes, columns, scale, header, colours) {
  const perNs = columns / (view.end - view.begin);
  const mostPackets = highest(bins, bins.packets);
  const isRate = bins.width >= RATE_FROM;
  const packets = rate(mostPackets * (isRate ? 1e9 : bins.width));
  const mostStolen = highest(bins, bins.stolen);
  const most = { packets: mostPackets, stolen: mostStolen };
  for (const [name, box] of Object.entries(boxes)) bars(context, bins, bins[name], most[name], view, box, perNs, colours[name]);
  const labels = [
    [boxes.packets, isRate ? "packets/s" : `packets per ${duration(bins.width)}`, header.absent.packets ? "not recorded" : `up to ${packets}`],
    [boxes.stolen, "stolen, network", header.absent.stolen ? "not recorded" : `up to ${percent(mostStolen / header.cpus.length)}`],
  ];
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const [box, what, most] of labels.filter(([box]) => box)) {
    context.fillStyle = "#1a1a1a";
    context.fillText(what, box.left - 6 * scale, box.top + box.height * 0.28);
    context.fillStyle = "#5b6470";
    context.fillText(most, box.left - 6 * scale, box.top + box.height * 0.76);
    context.fillStyle = "#d3d8dd";
    context.fillRect(box.left, box.top + box.height, box.width, Math.max(Math.round(scale / 2), 1));
  }
  return labels.map(([, what, most]) => `${what} ${most}`);
}

// Ticks with their times, and thin lines down through the lanes.
export function drawAxis(context, view, box, bottom, scale) {
  const perNs = box.width / (view.end - view.begin);
  const { base, at, labels } = tickLabels(view.begin, view.end, box.width / (95 * scale));
  const thin = Math.max(Math.round(scale / 2), 1);
  context.textAlign = "center";
  context.textBaseline = "middle";
  let until = box.left;
  at.forEach((ns, place) => {
    const x = box.left + Math.round((ns - view.begin) * perNs);
    context.fillStyle = "rgba(107,114,128,0.25)";
    context.fillRect(x, box.top + box.height, thin, bottom - box.top - box.height);
    context.fillStyle = "#5b6470";
    context.fillRect(x, box.top + box.height - 5 * scale, thin, 5 * scale);
    const half = context.measureText(labels[place]).width / 2;
    if (x - half < until || x + half > box.left + box.width) return;
    context.fillText(labels[place], x, box.top + box.height * 0.45);
    until = x + half + 8 * scale;
  });
  context.textAlign = "right";
  context.fillText(base ? `${instant(base)} +` : "time", box.left - 6 * scale, box.top + box.height * 0.45);
}

// Losses and other gaps: a bar at the head of the lane, wide enough to see however short the gap.
export function drawMarks(context, marks, view, columns, lane, left, scale) {
  const perNs = columns / (view.end - view.begin);
  let drawn = -1;
  for (const mark of marks) {
    if (mark.begin_ns >= view.end) break;
    if (mark.end_ns < view.begin) continue;
    const from = Math.max(Math.floor((mark.begin_ns - view.begin) * perNs), 0);
    const until = Math.min(Math.max(Math.ceil((mark.end_ns - view.begin) * perNs), from + 3 * scale), columns);
    if (until <= drawn) continue;
    context.fillStyle = "#a4133c";
    context.fillRect(left + from, lane.top, until - from, 3 * scale);
    context.beginPath();
    context.moveTo(left + from, lane.top);
    context.lineTo(left + from + 6 * scale, lane.top);
    context.lineTo(left + from, lane.top + 9 * scale);
    context.fill();
    drawn = until;
  }
}
