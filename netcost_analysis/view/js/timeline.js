// The timeline of a capture on a canvas: lanes of each CPU's owners, to zoom, pan, inspect and
// select. A host has the header and answers requests. There is no bundler: page.py joins the files.

import { Desk } from "./desk.js";

// Show a timeline in an element. host: header; tile(level, index), which promises a tile's bytes or
// null. Optional: detail(cpu, ns), follow(cpu, ns, link) and find(text, ns, cpu), which promise
// answers of places.py; selected(begin, end, cpus), called on selection; at, where to begin; fills,
// whether the timeline has the page to itself.
export function mount(element, host) {
  const desk = new Desk(element, host);
  element.netcostView = desk;
  return desk;
}

// In JupyterLab, through anywidget: requests are messages to Python, which answers by id.
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
    const request = waiting.get(message?.id);
    if (!request) return;
    waiting.delete(message.id);
    const [bytes] = buffers ?? [];
    if (message.error) request.reject(new Error(message.error));
    // Typed arrays need multiples of eight as offsets, which a message's buffer may not have.
    else if (bytes) request.resolve(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    else request.resolve(message.answer);
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
