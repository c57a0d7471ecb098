// On pages that are opened as files, browsers start no workers. The search of the theme runs in one:
// here it gets a hidden frame instead.
(() => {
  "use strict";

  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const load = (source) =>
        new Promise((done) => {
          const script = this.inside.document.createElement("script");
          script.src = source;
          script.addEventListener("load", done);
          this.inside.document.body.append(script);
        });
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.ready = load(address);
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  }

  window.Worker = window.IFrameWorker = FrameWorker;
})();
