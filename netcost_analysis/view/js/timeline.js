// The timeline of a capture on a canvas: lanes of each CPU's owners, to zoom, pan, ask and select.
// A host gives the header and answers what is asked. Without a bundler: document.py puts these
// files one behind the other.

import { Desk } from "./desk.js";

// Show a timeline in an element. host: header; tile(level, index), a promise of a tile's bytes or
// null; and where it can, detail(cpu, ns), follow(cpu, ns, link), find(text, ns, cpu), which promise
// what Tiles say; selected(begin, end, cpus), told what is selected; at, where to begin; fills, for
// a page of its own.
export function mount(element, host) {
  const desk = new Desk(element, host);
  element.netcostView = desk;
  return desk;
}

// JupyterLab, by anywidget: what is asked goes to Python as messages, each answered by its number.
function render({ model, el }) {
  let last = 0;
  const waiting = new Map();
  const ask = (what, given) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      model.send({ id, what, ...given });
    });
  const hear = (message, buffers) => {
    const one = waiting.get(message?.id);
    if (!one) return;
    waiting.delete(message.id);
    const [bytes] = buffers ?? [];
    if (message.error) one.reject(new Error(message.error));
    // Typed arrays begin at multiples of eight, which a message's buffer need not.
    else if (bytes) one.resolve(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    else one.resolve(message.answer);
  };
  model.on("msg:custom", hear);
  const desk = mount(el, {
    header: model.get("_header"),
    at: model.get("_at"),
    tile: (level, index) => ask("tile", { level, index }),
    detail: (cpu, ns) => ask("detail", { cpu, ns }),
    follow: (cpu, ns, link) => ask("follow", { cpu, ns, link }),
    find: (text, ns, cpu) => ask("find", { text, ns, cpu }),
    selected: (begin, end, cpus) => {
      model.set("_selected", begin === null ? [] : [begin, end, cpus]);
      model.save_changes();
    },
  });
  const go = () => model.get("_at") && desk.visit(model.get("_at"), true);
  model.on("change:_at", go);
  return () => {
    model.off("msg:custom", hear);
    model.off("change:_at", go);
    desk.destroy();
  };
}

export default { render };
