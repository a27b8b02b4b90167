// The address is the only state: controls are read into it, it is replaced in the history, and the server draws what it says.
(function () {
    "use strict";
    const clueline = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const noUpdate = () => window.dash_clientside.no_update;

    function replace(parameters) {
        const query = parameters.toString();
        window.history.replaceState(window.history.state, "", window.location.pathname + (query ? "?" + query : ""));
        return query;
    }

    // Sets keys of the address without a new entry in the history; blank values remove them. Returns the query string.
    clueline.set = function (changes) {
        const parameters = new URLSearchParams(window.location.search);
        for (const [key, value] of Object.entries(changes)) {
            parameters.delete(key);
            for (const one of Array.isArray(value) ? value : [value]) {
                if (one !== null && one !== undefined && one !== "") parameters.append(key, one);
            }
        }
        return replace(parameters);
    };

    const asText = {
        many: (value) => (value || []).map(String),
        one: (value) => (value === null || value === undefined ? "" : String(value).trim()),
        range: (value) => {
            if (!value || (value[0] <= 0 && value[1] >= 1)) return "";
            return value.map((end) => String(Number(end.toFixed(4)))).join("..");
        },
    };

    // "of KEY=VALUE:NAME": NAME's own number among the values of the key, as NAME:number; a blank one is left out. It counts
    // only while KEY is VALUE, under which it was drawn. Without a NAME it is the number for all names that have none of their own.
    // What has no control on the page stays.
    function named(kind) {
        const [, key, value, name] = /^of (\w+)=(\w*):(.*)$/s.exec(kind);
        return { key, value, name };
    }
    const element = (id) => document.getElementById(JSON.stringify(Object.fromEntries(Object.entries(id).sort())));
    // Whether a text is what the box takes by its pattern; the value itself is asked, since the box may not show it yet.
    function refused(id, text) {
        const box = element(id);
        return Boolean(text && box && box.pattern && !new RegExp("^(?:" + box.pattern + ")$").test(text));
    }
    const said = (name, number) => (name ? name + ":" + number : String(number));
    function merged(before, own) {
        const rest = new Map(own);
        const kept = before.map((text) => {
            const name = text.slice(0, Math.max(text.lastIndexOf(":"), 0));
            if (!rest.has(name)) return text;
            const number = rest.get(name);
            rest.delete(name);
            // The same number stays as it is written.
            return number === null ? "" : Number(text.slice(text.lastIndexOf(":") + 1)) === number ? text : said(name, number);
        });
        return kept.concat([...rest].map(([name, number]) => (number === null ? "" : said(name, number))));
    }

    const sorted = (query) => [...new URLSearchParams(query || "")].map(String).sort().join("\n");

    // Reads every control into the address; what has no control on the page stays as it is. ``asked`` is what was last asked of the
    // server: where one change follows another at once, Dash runs this twice with the later values and takes only the second answer.
    clueline.write = function (values, ids, asked) {
        const parameters = new URLSearchParams(window.location.search);
        const changes = {};
        ids.forEach((id, index) => {
            const [kind, ruled] = id.kind.split(":", 2);
            if (kind.startsWith("of ")) return;
            // "As in the table" leaves the order to the table's headings.
            if (kind === "order" && !values[index] && !clueline.ordered(parameters.get(id.key))) return;
            changes[id.key] = (asText[kind] || asText.one)(values[index]);
            // "rules:OTHER" is one value, and another one of it makes the values of OTHER mean something else: they go.
            if (kind === "rules" && changes[id.key] !== (parameters.get(id.key) || "")) parameters.delete(ruled);
        });
        const own = {};
        ids.forEach((id, index) => {
            if (!id.kind.startsWith("of ")) return;
            const under = named(id.kind);
            const now = under.key in changes ? changes[under.key] : parameters.get(under.key) || "";
            const text = asText.one(values[index]);
            if (now === under.value && refused(id, text)) return; // the address stays as it is
            const number = now === under.value && text !== "" ? Number(text) : null;
            (own[id.key] = own[id.key] || new Map()).set(under.name, number);
        });
        for (const key of new Set([...Object.keys(own), ...ids.filter((id) => id.kind.startsWith("rules:")).map((id) => id.kind.slice(6))])) {
            changes[key] = merged(parameters.getAll(key), own[key] || new Map());
        }
        const after = clueline.set(changes);
        return sorted(after) === sorted(asked) ? noUpdate() : after;
    };

    // Links of the navigation carry the selection along, without the keys that only this page knows.
    clueline.navigate = function (query, ids, view) {
        const keys = new Set((view || {}).keys || []);
        const kept = new URLSearchParams([...new URLSearchParams(query || "")].filter(([key]) => keys.has(key))).toString();
        return ids.map((id) => (kept ? id.path + "?" + kept : id.path));
    };

    // Elements that set keys of the address when they are pressed: data-set="sort=-brier".
    document.addEventListener("click", (event) => {
        const element = event.target.closest("[data-set]");
        if (!element) return;
        const changes = Object.fromEntries(new URLSearchParams(element.dataset.set));
        window.dash_clientside.set_props("address", { data: clueline.set(changes) });
    });

    // Elements that blank controls when they are pressed: data-clear="threshold", of all names or of the one in data-of.
    document.addEventListener("click", (event) => {
        const element = event.target.closest("[data-clear]");
        if (!element) return;
        for (const control of document.querySelectorAll('input[id*=\'"role":"control"\']')) {
            const id = JSON.parse(control.id);
            if (id.key !== element.dataset.clear || ("of" in element.dataset && named(id.kind).name !== element.dataset.of)) continue;
            control.focus(); // what was pressed goes away
            window.dash_clientside.set_props(id, { value: null });
        }
    });

    // Shows another page of the application, as Dash's own links do.
    clueline.go = function (href) {
        window.history.pushState({}, "", href);
        window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
        window.scrollTo(0, 0);
    };

    // Dash's router looks at the address when it is pushed or popped, but has not seen what was replaced in between: where a
    // link leads to what it believes is shown already, it would draw nothing.
    function wake() {
        const shown = window.dash_component_api && window.dash_component_api.getLayout("_pages_location");
        const props = shown && shown.props;
        if (props && props.pathname === window.location.pathname && props.search === window.location.search) {
            window.dash_clientside.set_props("_pages_location", { search: window.location.search });
        }
    }
    window.addEventListener("popstate", wake);
    window.addEventListener("_dashprivate_pushstate", wake);

    // The number boxes of a range take effect when they are left: Enter leaves them.
    document.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target.matches(".dash-range-slider-input")) event.target.blur();
    });

    // Dash's text box puts the caret back where it was a moment ago, though more was typed meanwhile, which would come in between.
    document.addEventListener("focusin", (event) => {
        if (event.target.matches("#main input")) event.target.setSelectionRange = () => {};
    });

    // Keys n and p walk through the list of questions.
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [role=listbox], [role=slider]")) return;
        const link = document.querySelector(`a[title="Key ${event.key}"]`);
        if (link) { event.preventDefault(); link.click(); }
    });

    document.addEventListener("click", async (event) => {
        const button = event.target.closest("[data-copy=address]");
        if (!button) return;
        const said = button.textContent;
        try {
            await navigator.clipboard.writeText(window.location.href);
            button.textContent = "Copied";
        } catch (e) {
            window.prompt("Copy this link", window.location.href);
        }
        window.setTimeout(() => { button.textContent = said; }, 1500);
    });

    // On a small screen the filters would push everything else out of sight.
    clueline.unfold = function () {
        const current = document.querySelector(".top nav a.current");
        if (current) current.scrollIntoView({ block: "nearest", inline: "center" });
        return window.innerWidth > 720;
    };
})();
