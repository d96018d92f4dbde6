// Loads tiles from the host, caches them within a limit, and finds the best one for a stretch.
// A tile of level k has bucketCount buckets of 2^k ns. docs/view.md defines its bytes.

const MAGIC = 0x31544c4e;
const SEGMENTS = 1;
export const NOBODY = 0xffffffff;

function aligned(offset) {
  return (offset + 7) & ~7;
}

// A tile's lanes, one per CPU, as typed arrays on its bytes, without copying.
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

// Tiles by level and index. The most recently used stay, up to a limit of bytes; the coarsest always stays.
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

  // The coarsest level whose buckets are no wider than a pixel.
  levelFor(nsPerPixel) {
    const level = Math.floor(Math.log2(Math.max(nsPerPixel, 1)));
    return Math.min(Math.max(level, 0), this.maxLevel);
  }

  // The first and last tile of a level that overlap a stretch of time.
  range(level, begin, end) {
    const span = this.span(level);
    const last = Math.max(Math.ceil(Math.min(end, this.duration) / span) - 1, 0);
    return [Math.min(Math.max(Math.floor(begin / span), 0), last), last];
  }

  get(level, index) {
    const key = `${level}/${index}`;
    const tile = this.kept.get(key);
    if (tile) {
      // A Map keeps insertion order, so the first key is the least recently used.
      this.kept.delete(key);
      this.kept.set(key, tile);
    }
    return tile;
  }

  // Load these in order, in place of earlier requests that have not begun.
  want(list) {
    this.wanted = list.map(([level, index]) => `${level}/${index}`);
    this.pump();
  }

  get isComplete() {
    const now = Date.now();
    return this.loading.size === 0 && this.wanted.every((key) => this.kept.has(key) || this.isAbsent(key, now));
  }

  isAbsent(key, now) {
    // A failed tile is retried after a while; one that the page lacks never is.
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
    // Visible tiles stay, however large: they would be requested again at once.
    const inSight = new Set(this.wanted);
    for (const [old, { level, bytes }] of this.kept) {
      if (this.bytes <= this.mostBytes) break;
      if (old === key || inSight.has(old) || level === this.maxLevel) continue;
      this.kept.delete(old);
      this.bytes -= bytes;
    }
  }

  // The best loaded tiles for a stretch: of its level, else halves of the level below, else coarser.
  // A piece is {tile, begin, end}: use only this part of the tile.
  pieces(level, begin, end) {
    const pieces = [];
    const [first, last] = this.range(level, begin, end);
    for (let index = first; index <= last; index++) {
      const from = index * this.span(level);
      const until = Math.min(from + this.span(level), this.duration);
      const exact = this.get(level, index);
      const halves = exact || level === 0 ? [] : [this.get(level - 1, 2 * index), this.get(level - 1, 2 * index + 1)];
      const middle = from + this.span(level) / 2;
      if (exact) pieces.push({ tile: exact, begin: from, end: until });
      else if (halves[0] && (halves[1] || middle >= until)) {
        pieces.push({ tile: halves[0], begin: from, end: Math.min(middle, until) });
        if (halves[1] && middle < until) pieces.push({ tile: halves[1], begin: middle, end: until });
      } else {
        const coarser = this.coarser(level, index);
        if (coarser) pieces.push({ tile: coarser, begin: from, end: until });
      }
    }
    return pieces;
  }

  coarser(level, index) {
    for (let up = 1; level + up <= this.maxLevel; up++) {
      const tile = this.get(level + up, Math.floor(index / 2 ** up));
      if (tile) return tile;
    }
    return undefined;
  }

  // Pieces with exact sums, and their window: a stretch extended to whole buckets.
  wholeBuckets(level, begin, end) {
    let [from, until] = [begin, end];
    for (;;) {
      const pieces = this.pieces(level, from, until);
      if (!pieces.length) return null;
      const coarsest = Math.max(...pieces.map((piece) => piece.tile.level));
      const width = 2 ** coarsest;
      const opens = Math.min(Math.floor(begin / width) * width, from);
      const closes = Math.max(Math.min(Math.ceil(end / width) * width, this.duration), until);
      // A bucket wider than the tiles of this level would be in several pieces, so take a coarser level.
      const wide = coarsest - Math.floor(Math.log2(this.bucketCount));
      if (wide <= level && opens === from && closes === until) return { begin: from, end: until, pieces };
      level = Math.max(level, wide);
      [from, until] = [opens, closes];
    }
  }
}

// The index of the first value of a sorted array above a limit.
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

// Call visit(begin, end, ns, owner, task) for each row of a piece's lane between two times.
// A bucket's shares apply to all of it, so a part of the bucket gets its part of the ns.
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

// Call visit(begin, end, packets, stolen) for each bucket of a lane that begins between two times.
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
    // Another piece has the bucket's beginning, and visits it.
    if (opens < begin) continue;
    if (lane.packets[bucket] || lane.stolen[bucket]) {
      visit(opens, Math.min(opens + tile.width, duration), lane.packets[bucket], lane.stolen[bucket]);
    }
  }
}

// Exact sums by CPU and owner over whole buckets: [{place, owner, ns}].
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
