// Browsers start no worker for a page that was opened as a file. There the site's search runs in a
// frame, which needs no server and no network.
if (location.protocol === "file:") {
    window.Worker = class {
        constructor(script) {
            this.frame = document.createElement("iframe");
            this.frame.hidden = true;
            document.body.append(this.frame);
            const inside = this.frame.contentWindow;
            // As between threads: a copy, and later.
            inside.postMessage = (data) => {
                const copy = structuredClone(data);
                setTimeout(() => this.onmessage?.({ data: copy }));
            };
            const program = inside.document.createElement("script");
            this.loaded = new Promise((done) => program.addEventListener("load", done));
            program.src = script;
            inside.document.body.append(program);
        }

        postMessage(data) {
            const copy = structuredClone(data);
            const deliver = () => this.frame.contentWindow?.onmessage({ data: copy });
            this.loaded.then(() => setTimeout(deliver));
        }

        terminate() {
            this.frame.remove();
        }
    };
}
