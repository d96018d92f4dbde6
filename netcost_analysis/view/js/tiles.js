// Tiles: what a host sends of a stretch of time, kept within a limit, and the best that is at hand.
// A tile of level k has bucketCount buckets of 2^k ns. The bytes: netcost_analysis/view/tiles.py.

const MAGIC = 0x31544c4e;
const SEGMENTS = 1;
export const NOBODY = 0xffffffff;

function aligned(offset) {
  return (offset + 7) & ~7;
}

// Bytes as typed arrays on them, a lane for each CPU; nothing is copied.
export function parseTile(buffer, level, index, buckets) {
  const head = new DataView(buffer);
  if (buffer.byteLength < 8 || head.getUint32(0, true) !== MAGIC) throw new Error("no tile");
  const count = head.getUint32(4, true);
  let at = aligned(8 + 8 * count);
  const take = (Kind, length) => {
    const array = new Kind(buffer, at, length);
    at = aligned(at + array.byteLength);
    return array;
  };
  const lanes = [];
  for (let place = 0; place < count; place++) {
    const isExact = head.getUint32(8 + 8 * place, true) === SEGMENTS;
    const length = head.getUint32(12 + 8 * place, true);
    const rows = isExact
      ? { start: take(Float64Array, length), end: take(Float64Array, length), owner: take(Uint32Array, length), task: take(Uint32Array, length) }
      : { ns: take(Float64Array, length), owner: take(Uint32Array, length), bucket: take(Uint16Array, length) };
    lanes.push({ isExact, length, ...rows, packets: take(Uint32Array, buckets), stolen: take(Float64Array, buckets) });
  }
  const width = 2 ** level;
  return { level, index, lanes, width, begin: index * buckets * width, bytes: buffer.byteLength };
}

// Tiles by level and index. Those looked at last stay, up to a limit of bytes; the coarsest stays always.
export class TileStore {
  constructor({ bucketCount, maxLevel, duration, load, changed, mostBytes = 96e6, mostLoading = 6 }) {
    Object.assign(this, { bucketCount, maxLevel, duration, load, changed, mostBytes, mostLoading });
    this.kept = new Map();
    this.bytes = 0;
    this.loading = new Set();
    this.wanted = [];
    this.absent = new Map();
    this.error = "";
  }

  span(level) {
    return this.bucketCount * 2 ** level;
  }

  // The level whose buckets are as wide as a pixel, or next below.
  levelFor(nsPerPixel) {
    const level = Math.floor(Math.log2(Math.max(nsPerPixel, 1)));
    return Math.min(Math.max(level, 0), this.maxLevel);
  }

  // The first and the last tile of a level that a stretch of time meets.
  range(level, begin, end) {
    const span = this.span(level);
    const last = Math.max(Math.ceil(Math.min(end, this.duration) / span) - 1, 0);
    return [Math.min(Math.max(Math.floor(begin / span), 0), last), last];
  }

  get(level, index) {
    const key = `${level}/${index}`;
    const tile = this.kept.get(key);
    if (tile) {
      // A Map keeps the order in which keys came: the first is the one not looked at for longest.
      this.kept.delete(key);
      this.kept.set(key, tile);
    }
    return tile;
  }

  // What to load, in this order, instead of what was wanted before and has not begun.
  want(list) {
    this.wanted = list.map(([level, index]) => `${level}/${index}`);
    this.pump();
  }

  get isComplete() {
    const now = Date.now();
    return this.loading.size === 0 && this.wanted.every((key) => this.kept.has(key) || this.isAbsent(key, now));
  }

  isAbsent(key, now) {
    // What failed is asked for again after a while, what a page does not hold never.
    return (this.absent.get(key) ?? 0) > now;
  }

  pump() {
    const now = Date.now();
    for (const key of this.wanted) {
      if (this.loading.size >= this.mostLoading) return;
      if (this.loading.has(key) || this.kept.has(key) || this.isAbsent(key, now)) continue;
      this.loading.add(key);
      this.fetch(key);
    }
  }

  async fetch(key) {
    const [level, index] = key.split("/").map(Number);
    try {
      const buffer = await this.load(level, index);
      if (buffer === null) this.absent.set(key, Infinity);
      else this.keep(key, parseTile(buffer, level, index, this.bucketCount));
      this.error = "";
    } catch (error) {
      this.absent.set(key, Date.now() + 3000);
      this.error = String(error?.message ?? error);
    }
    if (this.absent.size > 20000) this.absent.clear();
    this.loading.delete(key);
    this.pump();
    this.changed();
  }

  keep(key, tile) {
    this.kept.set(key, tile);
    this.bytes += tile.bytes;
    // What is in sight stays, however large: it would be asked for again at once.
    const inSight = new Set(this.wanted);
    for (const [old, one] of this.kept) {
      if (this.bytes <= this.mostBytes) break;
      if (old === key || inSight.has(old) || one.level === this.maxLevel) continue;
      this.kept.delete(old);
      this.bytes -= one.bytes;
    }
  }

  // What is at hand of a tile's stretch: itself, else its halves, else the next coarser one.
  // Each is {tile, begin, end}: only this part of it is meant.
  pieces(level, begin, end) {
    const found = [];
    const [first, last] = this.range(level, begin, end);
    for (let index = first; index <= last; index++) {
      const from = index * this.span(level);
      const until = Math.min(from + this.span(level), this.duration);
      const own = this.get(level, index);
      const halves = own || level === 0 ? [] : [this.get(level - 1, 2 * index), this.get(level - 1, 2 * index + 1)];
      const middle = from + this.span(level) / 2;
      if (own) found.push({ tile: own, begin: from, end: until });
      else if (halves[0] && (halves[1] || middle >= until)) {
        found.push({ tile: halves[0], begin: from, end: Math.min(middle, until) });
        if (halves[1] && middle < until) found.push({ tile: halves[1], begin: middle, end: until });
      } else {
        const coarser = this.coarser(level, index);
        if (coarser) found.push({ tile: coarser, begin: from, end: until });
      }
    }
    return found;
  }

  coarser(level, index) {
    for (let up = 1; level + up <= this.maxLevel; up++) {
      const tile = this.get(level + up, Math.floor(index / 2 ** up));
      if (tile) return tile;
    }
    return undefined;
  }

  // Pieces whose sums are exact, and the window of whole buckets around a stretch that they are of.
  wholeBuckets(level, begin, end) {
    let [from, until] = [begin, end];
    for (;;) {
      const pieces = this.pieces(level, from, until);
      if (!pieces.length) return null;
      const coarsest = Math.max(...pieces.map((piece) => piece.tile.level));
      const width = 2 ** coarsest;
      const opens = Math.min(Math.floor(begin / width) * width, from);
      const closes = Math.max(Math.min(Math.ceil(end / width) * width, this.duration), until);
      // A bucket wider than the tiles asked for would be in several pieces.
      const wide = coarsest - Math.floor(Math.log2(this.bucketCount));
      if (wide <= level && opens === from && closes === until) return { begin: from, end: until, pieces };
      level = Math.max(level, wide);
      [from, until] = [opens, closes];
    }
  }
}

// The first place of an array in rising order whose value is above a limit.
export function firstAbove(array, limit) {
  let low = 0;
  let high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Show each row of a lane that a piece has between two times: visit(begin, end, ns, owner, task).
// Of a bucket's shares each is over all of the bucket; a part of it gets its part of the ns.
export function eachRow(piece, place, from, until, duration, visit) {
  const { tile } = piece;
  const lane = tile.lanes[place];
  if (!lane) return;
  const begin = Math.max(piece.begin, from);
  const end = Math.min(piece.end, until);
  if (lane.isExact) {
    for (let row = firstAbove(lane.end, begin); row < lane.length && lane.start[row] < end; row++) {
      const start = Math.max(lane.start[row], begin);
      const stop = Math.min(lane.end[row], end);
      if (stop > start) visit(start, stop, stop - start, lane.owner[row], lane.task[row]);
    }
    return;
  }
  const low = Math.floor((begin - tile.begin) / tile.width) - 1;
  for (let row = firstAbove(lane.bucket, low); row < lane.length; row++) {
    const opens = tile.begin + lane.bucket[row] * tile.width;
    if (opens >= end) return;
    const closes = Math.min(opens + tile.width, duration);
    const start = Math.max(opens, begin);
    const stop = Math.min(closes, end);
    if (stop <= start) continue;
    const whole = start === opens && stop === closes;
    visit(start, stop, whole ? lane.ns[row] : (lane.ns[row] * (stop - start)) / (closes - opens), lane.owner[row], NOBODY);
  }
}

// Show each bucket's packets and stolen ns of a lane between two times: visit(begin, end, packets, stolen).
export function eachBucket(piece, place, from, until, duration, visit) {
  const { tile } = piece;
  const lane = tile.lanes[place];
  if (!lane) return;
  const begin = Math.max(piece.begin, from);
  const end = Math.min(piece.end, until);
  const first = Math.max(Math.floor((begin - tile.begin) / tile.width), 0);
  for (let bucket = first; bucket < lane.packets.length; bucket++) {
    const opens = tile.begin + bucket * tile.width;
    if (opens >= end) return;
    // Of a bucket that begins before, another piece tells.
    if (opens < begin) continue;
    if (lane.packets[bucket] || lane.stolen[bucket]) {
      visit(opens, Math.min(opens + tile.width, duration), lane.packets[bucket], lane.stolen[bucket]);
    }
  }
}

// Sums by CPU and owner over whole buckets: [{place, owner, ns}], exact.
export function sums(whole, lanes, duration) {
  const rows = [];
  for (const place of lanes) {
    const byOwner = new Map();
    for (const piece of whole.pieces) {
      eachRow(piece, place, whole.begin, whole.end, duration, (_, __, ns, owner) => {
        byOwner.set(owner, (byOwner.get(owner) ?? 0) + ns);
      });
    }
    for (const [owner, ns] of byOwner) rows.push({ place, owner, ns });
  }
  return rows.sort((one, other) => one.place - other.place || other.ns - one.ns);
}
