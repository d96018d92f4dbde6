// Lanes show who had each CPU. A column of pixels stacks the shares of all owners in its time, so
// that no short segment is lost to a longer neighbour.

import { eachRow } from "./tiles.js";
import { inkOn, printable, rgb } from "./text.js";

// From the bottom up: interrupts are at the bottom, where heights are easy to compare; idle and unknown are on top.
const ORDER = {
  kind: ["poll", "softirq", "hardirq", "vector", "softirq_other", "nmi", "victim", "task", "unknown", "idle"],
  part: ["stolen_network", "stolen_maybe_network", "stolen_or_synchronous", "stolen_other", "synchronous", "scheduled", "from_idle", "victim", "own", "unknown", "idle"],
};
const HATCH = [154, 163, 171];
const LABEL_FROM = 26;
const EDGE_FROM = 5;

// The classes that a mode distinguishes, with colours and names: what ran ("kind") or at whose cost ("part").
export function classesOf(header, mode) {
  const colours = { ...header.colours[mode], idle: header.colours.kind.idle };
  const names = { ...header.names[mode], idle: header.names.kind.idle };
  const listed = ORDER[mode].filter((key) => colours[key]);
  const keys = [...listed, ...Object.keys(colours).filter((key) => !listed.includes(key))];
  const place = new Map(keys.map((key, at) => [key, at]));
  const of = Uint8Array.from(header.owners, (owner) => {
    const key = owner.kind === "idle" || mode === "kind" ? owner.kind : owner.part;
    return place.get(key) ?? place.get("unknown");
  });
  return { keys, of, colours: keys.map((key) => colours[key]), names: keys.map((key) => names[key] ?? key), unknown: place.get("unknown") };
}

export function taskName(header, task) {
  const found = header.tasks[task];
  return found ? `${printable(found.comm ?? "?")} (${found.tid ?? "?"})` : "";
}

// The text in a segment and in the table.
export function ownerName(header, owner) {
  return printable(header.owners[owner]?.label ?? "?");
}

// Draws lanes as an image of device pixels. view: {begin, end}; columns: pixels across; lanes: [{place, top, height}].
export class LanePainter {
  constructor(header) {
    this.header = header;
    this.widths = new Map();
    this.sums = new Float64Array(0);
    this.image = null;
    this.setMode("kind");
  }

  setMode(mode) {
    this.mode = mode;
    this.classes = classesOf(this.header, mode);
    this.rgb = this.classes.colours.map(rgb);
    this.packed = this.rgb.map(([red, green, blue]) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0);
  }

  paint(context, pieces, view, columns, lanes, left, top, height) {
    if (!this.image || this.image.width !== columns || this.image.height !== height) {
      this.image = context.createImageData(columns, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0xffffffff);
    for (const lane of lanes) {
      this.sum(pieces, view, columns, lane.place);
      this.fill(columns, lane.top - top, lane.height, (view.end - view.begin) / columns, height);
    }
    context.putImageData(this.image, left, top);
  }

  // The ns of each class in each column.
  sum(pieces, view, columns, place) {
    const many = this.classes.keys.length;
    if (this.sums.length < columns * many) this.sums = new Float64Array(columns * many);
    const { sums } = this;
    sums.fill(0);
    const { of } = this.classes;
    const { begin } = view;
    const perNs = columns / (view.end - view.begin);
    for (const piece of pieces) {
      eachRow(piece, place, view.begin, view.end, this.header.duration_ns, (start, end, ns, owner) => {
        const from = (start - begin) * perNs;
        const until = Math.min((end - begin) * perNs, columns);
        let column = Math.floor(from);
        const kind = of[owner];
        if (until <= column + 1) {
          if (column < columns) sums[column * many + kind] += ns;
          return;
        }
        const density = ns / (until - from);
        sums[column * many + kind] += density * (column + 1 - from);
        for (column++; column + 1 <= until; column++) sums[column * many + kind] += density;
        if (column < columns) sums[column * many + kind] += density * (until - column);
      });
    }
  }

  // Stack each column's shares from the lane's bottom up. A pixel with several colours gets their mixture.
  fill(columns, top, height, nsPerColumn, bottom) {
    const many = this.classes.keys.length;
    const { sums, pixels, packed, rgb: colours } = this;
    const { unknown } = this.classes;
    const visible = Math.min(top + height, bottom);
    for (let column = 0; column < columns; column++) {
      let filled = 0;
      let red = 0;
      let green = 0;
      let blue = 0;
      for (let kind = 0; kind < many; kind++) {
        let share = (sums[column * many + kind] / nsPerColumn) * height;
        while (share > 1e-6) {
          const row = Math.floor(filled + 1e-9);
          if (row >= height) break;
          const y = top + height - 1 - row;
          const room = Math.min(row + 1 - filled, share);
          const isHatched = kind === unknown && (column + y) % 6 === 0;
          if (room > 1 - 1e-6) {
            if (y >= 0 && y < visible) pixels[y * columns + column] = isHatched ? 0xffaba39a : packed[kind];
            filled = row + 1;
          } else {
            const colour = isHatched ? HATCH : colours[kind];
            red += room * colour[0];
            green += room * colour[1];
            blue += room * colour[2];
            filled += room;
            if (filled >= row + 1 - 1e-6) {
              if (y >= 0 && y < visible) pixels[y * columns + column] = (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
              red = green = blue = 0;
            }
          }
          share -= room;
        }
      }
    }
  }

  // Edges between segments and names in them, if there is room. scale: device pixels per CSS pixel.
  label(context, pieces, view, columns, lane, left, scale) {
    const perNs = columns / (view.end - view.begin);
    let open = null;
    const close = () => {
      if (!open) return;
      const from = left + Math.max((open.start - view.begin) * perNs, 0);
      const until = left + Math.min((open.end - view.begin) * perNs, columns);
      if (until - from >= EDGE_FROM * scale) {
        context.fillStyle = "rgba(255,255,255,0.75)";
        if (open.start > view.begin) context.fillRect(Math.round(from), lane.top, Math.max(Math.round(scale / 2), 1), lane.height);
      }
      if (until - from >= LABEL_FROM * scale) this.write(context, open, from, until, lane, scale);
    };
    for (const piece of pieces) {
      if (!piece.tile.lanes[lane.place]?.isExact) {
        close();
        open = null;
        continue;
      }
      eachRow(piece, lane.place, view.begin, view.end, this.header.duration_ns, (start, end, _, owner, task) => {
        // A tile cuts a segment that continues in the next one, so join the two.
        if (open && open.end === start && start === piece.begin && open.owner === owner && open.task === task) {
          open.end = end;
          return;
        }
        close();
        open = { start, end, owner, task };
      });
    }
    close();
  }

  write(context, segment, from, until, lane, scale) {
    const owner = this.header.owners[segment.owner];
    if (!owner || owner.kind === "idle") return;
    const text = this.fitted(context, ownerName(this.header, segment.owner), until - from - 8 * scale);
    if (!text) return;
    context.fillStyle = inkOn(this.classes.colours[this.classes.of[segment.owner]]);
    context.fillText(text, from + 4 * scale, lane.top + lane.height / 2);
  }

  // As much of a text as fits.
  fitted(context, text, room) {
    const key = `${context.font}/${text}`;
    if (this.widths.size > 5000) this.widths.clear();
    let width = this.widths.get(key);
    if (width === undefined) this.widths.set(key, (width = context.measureText(text).width));
    if (width <= room) return text;
    const letters = Array.from(text);
    const kept = Math.floor((letters.length * room) / width) - 1;
    return kept < 2 ? "" : `${letters.slice(0, kept).join("")}…`;
  }
}
