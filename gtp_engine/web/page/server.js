// The server: its events, and what is asked of it.
//
// A hidden page closes its stream of events, as a browser gives a host six connections only; when it is seen again it
// gets everything anew.

import { t } from "./texts.js";

const RETRY_MS = 1000;

export class Server {
  #stream = null;
  #listeners;
  #retry = 0;

  /** `listeners`: a function for each name of an event, and `lost` for a stream that has ended. */
  constructor(listeners) {
    this.#listeners = listeners;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", () => this.#open());
    if (!document.hidden) this.#open();
  }

  #open() {
    if (this.#stream) return;
    clearTimeout(this.#retry);
    const stream = new EventSource("/api/events");
    this.#stream = stream;
    for (const [name, listener] of Object.entries(this.#listeners)) {
      if (name !== "lost") stream.addEventListener(name, (event) => listener(JSON.parse(event.data)));
    }
    stream.onerror = () => {
      this.#close();
      this.#lost().then(() => (this.#retry = setTimeout(() => document.hidden || this.#open(), RETRY_MS)));
    };
  }

  /** Find out whether nobody answers, or a server that was started anew and does not know this page, or has too many. */
  async #lost() {
    const status = await fetch("/api/events", { method: "HEAD" }).then((answer) => answer.status, () => 0);
    this.#listeners.lost({ 403: "no_entry", 503: "too_many_pages" }[status] ?? "lost_connection");
  }

  #close() {
    clearTimeout(this.#retry);
    this.#stream?.close();
    this.#stream = null;
  }

  /** Ask for something. Returns the answer; throws an Error with one line for the user. */
  async ask(name, body = {}) {
    let response, answer;
    try {
      response = await fetch(`/api/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      answer = await response.json();
    } catch {
      this.#lost();
      throw new Error("");
    }
    if (!response.ok) throw new Error(answer.key ? t(answer.key, answer.values) : answer.error);
    return answer;
  }
}
