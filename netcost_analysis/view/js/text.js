// Times, numbers and names as text. Times are nanoseconds in doubles, exact up to 104 days.

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// The divisor and unit that suit a span.
export function unitOf(span) {
  return UNITS.find(([divisor]) => span >= 2 * divisor) ?? UNITS[3];
}

// A duration in a few digits: "1.25 ms".
export function duration(ns) {
  // A value that would round to 1000 takes the next unit.
  const [divisor, unit] = UNITS.find(([size]) => ns >= size * 0.9995) ?? UNITS[3];
  const value = ns / divisor;
  const digits = divisor === 1 ? (Number.isInteger(ns) ? 0 : 1) : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

// An instant to its last nanosecond: "1.234567890 s".
export function instant(ns) {
  const sign = ns < 0 ? "-" : "";
  const whole = Math.round(Math.abs(ns));
  return `${sign}${Math.floor(whole / 1e9)}.${String(whole % 1e9).padStart(9, "0")} s`;
}

// The same for nanoseconds given as text, since a clock's may not fit into a double.
export function absoluteInstant(text) {
  const [, sign, digits] = /^(-?)(\d+)$/.exec(text) ?? [null, "", "0"];
  const padded = digits.padStart(10, "0");
  return `${sign}${padded.slice(0, -9)}.${padded.slice(-9)} s`;
}

// An integer with thin spaces between thousands.
export function grouped(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

export function rate(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(number < 1e7 ? 1 : 0)} M`;
  if (number >= 1e3) return `${(number / 1e3).toFixed(number < 1e4 ? 1 : 0)} k`;
  return number.toFixed(number < 10 && !Number.isInteger(number) ? 1 : 0);
}

export function percent(share) {
  const value = 100 * share;
  return `${value.toFixed(value >= 10 || value === 0 ? 1 : value >= 0.1 ? 2 : 3)} %`;
}

// A name fit to be drawn. Task names may contain anything, even line breaks or a change of direction.
export function printable(name) {
  return String(name).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}

// A text colour that is readable on a colour, by its brightness as in ITU-R BT.601; see plots/palette.py.
export function inkOn(colour) {
  const [red, green, blue] = rgb(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 130 ? "#1a1a1a" : "#ffffff";
}

export function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

// The ticks of an axis: at most `most` steps of 1, 2 or 5 times a power of ten, from begin on.
export function ticks(begin, end, most) {
  const rough = Math.max((end - begin) / Math.max(most, 1), 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const first = Math.ceil(begin / step) * step;
  const at = [];
  for (let count = 0; first + count * step <= end && count < 200; count++) at.push(first + count * step);
  return { step, at };
}

// Labels of ticks. Far from 0 they count from a base, which is shown once.
export function tickLabels(begin, end, most) {
  const axis = ticks(begin, end, most);
  const [divisor, unit] = unitOf(end - begin);
  const digits = Math.max(0, Math.ceil(Math.log10(divisor / axis.step) - 1e-9));
  // Full labels would have more digits than the eye can compare.
  const isDeep = begin / axis.step > 1e5;
  const wide = axis.step * 1000;
  const base = isDeep ? Math.floor(begin / wide) * wide : 0;
  return {
    base,
    at: axis.at,
    labels: axis.at.map((ns) => `${isDeep ? "+" : ""}${((ns - base) / divisor).toFixed(digits)} ${unit}`),
  };
}
