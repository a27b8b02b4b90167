// The address is the only state of a page, and only this script reads and writes it. A settled change of a control and a link to
// another page add an entry to the history; quick changes after one another share one. The request for what the server should draw
// goes into the store "request".
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const noUpdate = () => window.dash_clientside.no_update;
    const TYPING = 350; // ms without a key press before typed text counts

    // An address can name a stored selection instead of its keys. The server says which keys these are.
    const stored = new Map(); // id -> keys and values
    function expanded(search) {
        const parameters = new URLSearchParams(search);
        const keys = stored.get(parameters.get("selection"));
        if (!keys) return parameters;
        parameters.delete("selection");
        const own = new Set(parameters.keys());
        for (const [key, value] of keys) if (!own.has(key)) parameters.append(key, value);
        return parameters;
    }
    const query = () => expanded(window.location.search);
    const sorted = (parameters) => [...parameters].map(String).sort().join("\n");

    // -- writing

    // Sets keys of the address. Blank values remove keys. A step is an entry of the history, to which Back leads.
    const SETTLED = 600; // ms between two changes that are steps of their own
    let changed = -SETTLED; // when a step was last made or continued
    clueline.setKeys = function (changes, step) {
        const parameters = query();
        for (const [key, value] of Object.entries(changes)) {
            parameters.delete(key);
            for (const text of Array.isArray(value) ? value : [value]) {
                if (text !== null && text !== undefined && text !== "") parameters.append(key, text);
            }
        }
        if (!("after" in changes) && sorted(parameters) !== sorted(query())) parameters.delete("after"); // of another list
        const differs = sorted(parameters) !== sorted(query());
        if (!differs && new URLSearchParams(window.location.search).has("selection")) return carry(); // it says the same, and is short
        const text = parameters.toString();
        const { pathname, hash } = window.location;
        const adds = step && differs && performance.now() - changed > SETTLED;
        if (step && differs) changed = performance.now();
        window.history[adds ? "pushState" : "replaceState"](window.history.state, "", pathname + (text ? "?" + text : "") + hash);
        address = window.location.pathname + window.location.search;
        carry();
    };

    // The request to draw the page of an address, or only its content if nothing but keys changed.
    // On /write, the draft is sent along (assets/write.js), because it is too long for an address.
    // Until a whole page is there, the controls on the screen are those of another address.
    let awaited = false;
    const request = (page) => {
        wait();
        awaited = awaited || page;
        asked = { address: window.location.pathname + window.location.search, controls: current };
        return {
            path: window.location.pathname, query: window.location.search.slice(1), page: awaited,
            draft: window.location.pathname === "/write" ? clueline.draft() : null,
        };
    };
    const ask = (page) => window.dash_clientside.set_props("request", { data: request(page) });
    clueline.redraw = () => ask(false);

    // While an answer is awaited, the page says so. If the server cannot be reached, address and controls go back to what is shown;
    // if the answer comes after all, they go to what was asked.
    const SLOW = 150, PROBE = 4000; // ms until the page looks busy, and between two probes of the server
    const FAILURES = 3, AGAIN = 700; // probes in a row that must fail, because a busy server may miss one, and ms between these
    let soon = 0, probes = 0, failures = 0; // timers, and how many probes have failed in a row
    // Addresses, each with the values of the controls: of what is shown, and of what was asked last; whether the server was lost since.
    let drawn = null, asked = null, lost = false, restoring = false; // the last: whether controls are on their way to other values
    let current = []; // the controls of the page with their values, as they stand now
    function wait() {
        lost = false;
        failures = 0;
        window.clearTimeout(soon);
        window.clearInterval(probes);
        soon = window.setTimeout(() => busy(true), SLOW);
        probes = window.setInterval(probe, PROBE);
    }
    function busy(now) {
        const main = document.getElementById("main");
        if (now && main) main.setAttribute("aria-busy", "true");
        else if (main) main.removeAttribute("aria-busy");
    }
    function rest() {
        window.clearTimeout(soon);
        window.clearInterval(probes);
        probes = 0;
        busy(false);
    }
    // redraw.js calls this when the answer is there; it says whether that is a whole page, with new controls, and under which query
    // string the page stands, if not under the one that was asked.
    clueline.answered = function (page, stands) {
        rest();
        if (lost) stand(asked);
        lost = false;
        if (stands && stands.selection) stored.set(stands.selection, stands.keys);
        if (stands && stands.asked === window.location.search.slice(1)) {
            const { pathname, hash } = window.location;
            window.history.replaceState(window.history.state, "", pathname + "?" + stands.query + hash);
            address = pathname + window.location.search;
        }
        if (page) touched = awaited = false;
        unreachable(false);
        drawn = { address: window.location.pathname + window.location.search, controls: (asked || {}).controls || [] };
    };
    async function probe() {
        try {
            await window.fetch("/healthz", { cache: "no-store" });
            failures = 0;
        } catch (e) {
            if (!probes) return; // the answer has come meanwhile
            failures += 1;
            if (failures < FAILURES) { window.setTimeout(() => { if (probes) probe(); }, AGAIN); return; }
            rest();
            lost = true;
            const wanted = window.location.href;
            awaited = false;
            if (drawn !== null) stand(drawn);
            unreachable(true, wanted);
        }
    }
    // Puts an address and the values of its controls on the page.
    function stand({ address: there, controls }) {
        window.history.replaceState(window.history.state, "", there);
        address = there;
        const now = new Map(current.map(({ id, value }) => [JSON.stringify(id), JSON.stringify(value)]));
        for (const { id, value } of controls) {
            const before = now.get(JSON.stringify(id));
            if (before === undefined || before === JSON.stringify(value)) continue;
            restoring = true;
            window.dash_clientside.set_props(id, { value: value });
        }
        carry();
    }
    function unreachable(now, wanted) {
        const before = document.getElementById("unreachable");
        if (before) before.remove();
        if (!now) return;
        const retry = clueline.element("button", { type: "button", class: "quiet" }, "Retry");
        retry.addEventListener("click", () => { window.history.replaceState(window.history.state, "", wanted); arrive(); });
        const words = "Server not reached. The page shows what it showed before. ";
        document.body.prepend(clueline.element("div", { id: "unreachable", role: "alert" }, words, retry));
    }

    // Asks again for a page that the server was too busy to draw, unless the visitor has gone elsewhere.
    let waiting = 0;
    clueline.askAgain = function (seconds) {
        window.clearTimeout(waiting);
        const { href } = window.location;
        const jitter = 1 + Math.random(); // so that not all who wait come back at the same moment
        waiting = window.setTimeout(() => { if (window.location.href === href) ask(true); }, 1000 * seconds * jitter);
    };

    // Shows a page of the application. If only its drawer differs, the page stays as it is.
    clueline.open = function (href) {
        window.history.pushState({}, "", href);
        if (moveDrawer()) return;
        window.scrollTo(0, 0);
        arrive();
    };
    const withoutDrawer = (address) => {
        const { pathname, searchParams } = new URL(address, window.location);
        searchParams.delete("items");
        return pathname + "?" + sorted(searchParams);
    };
    // Asks only for the content if nothing but the drawer differs from what is shown or requested; says whether that is so.
    function moveDrawer() {
        const now = window.location.pathname + window.location.search;
        if (address === null || withoutDrawer(address) !== withoutDrawer(now)) return false;
        address = now;
        carry();
        ask(false);
        return true;
    }
    let address = null; // path and keys of the page that is shown or requested
    function arrive() {
        window.clearTimeout(typing);
        address = window.location.pathname + window.location.search;
        ask(true);
    }
    callbacks.begin = () => {
        address = window.location.pathname + window.location.search;
        return request(true);
    };
    window.addEventListener("popstate", () => {
        if (window.location.pathname + window.location.search === address) clueline.showFragment();
        else if (!moveDrawer()) arrive();
    });

    // -- controls

    // How a control's value is written in the address, by the kind of the control.
    const asText = {
        choices: (value) => (value || []).map(String),
        choice: (value) => (value === null || value === undefined ? "" : String(value)),
        text: (value) => (value === null || value === undefined ? "" : String(value).trim()),
        range: (value) => {
            if (!value || (value[0] <= 0 && value[1] >= 1)) return "";
            return value.map((end) => String(Number(end.toFixed(4)))).join("..");
        },
    };
    asText.order = asText.scale = asText.choice;

    // Thresholds: RUN:NUMBER for one run, NUMBER for all runs without their own. Thresholds of runs without a control stay unchanged.
    const threshold = (run, number) => (run ? run + ":" + number : String(number));
    function withThresholds(before, own) {
        const left = new Map(own);
        const kept = before.map((text) => {
            const end = text.lastIndexOf(":");
            const run = text.slice(0, Math.max(end, 0));
            if (!left.has(run)) return text;
            const number = left.get(run);
            left.delete(run);
            if (number === null) return "";
            return Number(text.slice(end + 1)) === number ? text : threshold(run, number); // the same number keeps its spelling
        });
        return kept.concat([...left].map(([run, number]) => (number === null ? "" : threshold(run, number))));
    }
    // Returns whether the box of a control refuses a text, by the box's pattern.
    function refused(id, text) {
        const box = clueline.component(id);
        return Boolean(text && box && box.pattern && !new RegExp("^(?:" + box.pattern + ")$").test(text));
    }

    // Writes the values of all controls of a page into the address. Keys without a control on the page stay unchanged.
    function read(controls) {
        const parameters = query();
        const changes = {};
        let thresholds = parameters.getAll("threshold");
        for (const { id, value } of controls) {
            if (id.kind === "threshold") continue;
            let text = asText[id.kind](value);
            if (id.kind === "text" && refused(id, text)) return; // it is still being typed
            if (id.default && String(text) === id.default) text = "";
            // "As in the table" leaves the order to the table's headings.
            if (id.kind === "order" && !text && !clueline.hasOwnColumn(parameters.get(id.key))) continue;
            // Thresholds on one scale mean nothing on another.
            if (id.kind === "scale" && text !== (parameters.get(id.key) || "")) thresholds = [];
            changes[id.key] = text;
        }
        const scale = "scale" in changes ? changes.scale : parameters.get("scale") || "";
        const own = new Map();
        for (const { id, value } of controls) {
            if (id.kind !== "threshold") continue;
            const text = asText.text(value);
            if (scale !== id.scale) continue; // drawn under another scale
            if (refused(id, text)) return; // the address stays as it is
            own.set(id.run, text === "" ? null : Number(text));
        }
        changes.threshold = withThresholds(thresholds, own);
        clueline.setKeys(changes, true);
    }

    // Controls that are new on a page call the callback, too, and may come when the visitor has already gone elsewhere. They show what
    // was requested, so nothing changes until somebody acts.
    let touched = false;
    for (const event of ["pointerdown", "keydown", "input", "click"]) {
        document.addEventListener(event, () => { touched = true; restoring = false; }, { capture: true, passive: true });
    }

    // A callback of every control. Typed text takes effect after a pause in typing, everything else at once.
    let typing = 0;
    callbacks.write = function (values, ids, requested) {
        window.clearTimeout(typing);
        const controls = current = ids.map((id, place) => ({ id: id, value: values[place] }));
        const box = document.activeElement;
        const typed = (window.dash_clientside.callback_context.triggered || []).some(({ prop_id }) =>
            box && box.matches("input[type=text], input[type=search]") && prop_id === box.id + ".value");
        if (!awaited && !touched && drawn) drawn.controls = controls; // of a new page, which shows what was asked
        if (awaited || !touched || restoring) return noUpdate();
        if (!typed) return written(controls, requested) || noUpdate();
        typing = window.setTimeout(() => { if (!awaited && written(controls, requested)) ask(false); }, TYPING);
        return noUpdate();
    };
    // Returns the request that the controls make; null if the same was already requested.
    function written(controls, requested) {
        read(controls);
        const path = window.location.pathname;
        return requested && requested.path === path && sorted(query()) === sorted(expanded(requested.query)) ? null : request(false);
    }

    // -- clicks

    function press(selector, act) {
        document.addEventListener("click", (event) => {
            const element = event.target.closest && event.target.closest(selector);
            if (element && !event.defaultPrevented) act(element, event);
        });
    }

    // Links of the application show another page without reloading the application.
    const elsewhere = (event) => event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // such as a new tab
    press("a[data-link]", (link, event) => {
        if (elsewhere(event)) return;
        event.preventDefault();
        clueline.open(link.getAttribute("href"));
    });

    // Marks open the drawer with what is behind them: data-items="focus=RUN&bin=3", blank to close it. Their links have the other
    // keys of the page once somebody points at them.
    const withItems = (items) => {
        const parameters = query();
        parameters.delete("items");
        if (items) parameters.set("items", items);
        return window.location.pathname + "?" + parameters;
    };
    for (const event of ["pointerover", "focusin"]) {
        document.addEventListener(event, ({ target }) => {
            const link = target.closest && target.closest("a[data-items]");
            if (link) link.href = withItems(link.dataset.items);
        });
    }
    clueline.openItems = (items) => clueline.open(withItems(items));
    press("[data-items]", (mark, event) => {
        if (elsewhere(event)) return;
        event.preventDefault();
        clueline.openItems(mark.dataset.items);
    });

    // Links of the navigation keep the selection, without the keys that only this page uses.
    function carry() {
        for (const nav of document.querySelectorAll("nav[data-keys]")) {
            const keys = new Set(JSON.parse(nav.dataset.keys));
            const kept = new URLSearchParams([...new URLSearchParams(window.location.search)].filter(([key]) => keys.has(key.split(".")[0]))).toString();
            for (const link of nav.querySelectorAll("a[data-path]")) link.href = link.dataset.path + (kept ? "?" + kept : "");
        }
    }

    // Elements that set keys of the address: data-set="sort=-brier".
    press("[data-set]", (element) => {
        clueline.setKeys(Object.fromEntries(new URLSearchParams(element.dataset.set)), true);
        clueline.redraw();
    });

    // Elements that clear the threshold of a run: data-reset="RUN".
    press("[data-reset]", (element) => {
        for (const input of element.closest("[data-run]").querySelectorAll('input[id*=\'"role":"control"\']')) {
            input.focus(); // the clicked element disappears
            window.dash_clientside.set_props(JSON.parse(input.id), { value: null });
        }
    });

    // Buttons that copy: data-copy="address" copies the address, data-copy="text" the text of their section.
    press("[data-copy]", async (button) => {
        const label = button.textContent;
        const source = button.dataset.copy === "text" ? button.closest("section").querySelector("pre") : null;
        const { origin, pathname, search, hash } = window.location;
        const base = button.dataset.url || origin; // the server says by which address others reach it
        const text = source ? source.textContent : base + pathname + search + hash;
        try {
            await navigator.clipboard.writeText(text);
            button.textContent = "Copied";
        } catch (e) {
            if (source) window.getSelection().selectAllChildren(source);
            else window.prompt("Copy this link", text);
        }
        window.setTimeout(() => { button.textContent = label; }, 1500);
        if (!source && LOOPBACK.test(new URL(base).hostname)) sayItIsLocal();
    });
    // The address of a server on this computer leads others nowhere.
    const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;
    function sayItIsLocal() {
        const before = document.getElementById("only-here");
        if (before) before.remove();
        const close = clueline.element("button", { type: "button", class: "quiet" }, "Close");
        const strip = clueline.element("div", { id: "only-here", role: "status" }, "Only this computer can open this link. ",
            clueline.element("a", { href: "/docs/docs/sharing" }, "Three ways to share a view"),
            ": a tunnel, a server with a name, or “Save as file” at the foot of the page. ", close);
        close.addEventListener("click", () => strip.remove());
        document.getElementById("header").after(strip);
    }

    // Scrolls to the part of the page that the address names after "#".
    clueline.showFragment = function () {
        const id = decodeURIComponent(window.location.hash.slice(1));
        const element = id ? document.getElementById(id) : null;
        if (element) element.scrollIntoView();
        return element;
    };
    // A link within a page replaces that part of the address, so that a table of contents adds nothing to the history.
    press('a[href^="#"]:not(.skip)', (link, event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        window.history.replaceState(window.history.state, "", link.getAttribute("href"));
        const element = clueline.showFragment();
        if (!element) return;
        element.tabIndex = -1;
        element.focus({ preventScroll: true });
    });

    // -- keys

    document.addEventListener("keydown", (event) => {
        // The number boxes of a range take effect when they lose focus, so Enter leaves them.
        if (event.key === "Enter" && event.target.matches(".dash-range-slider-input")) event.target.blur();
        // n and p go to the next and the previous question of the list.
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [role=listbox], [role=slider]")) return;
        const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
        if (link) { event.preventDefault(); link.click(); }
    });
})();
