// Announces new data and offers to reload the page, which never changes by itself.
(function () {
    "use strict";
    const EVERY = 20000; // ms
    const clueline = (window.clueline = window.clueline || {});
    let bar = null;
    let declined = null; // the version for which "Not now" was pressed

    const drawn = () => document.querySelector(".page[data-version]:not(.page-upload)");

    function hide() {
        if (bar) bar.remove();
        bar = null;
    }

    function offer(version, from) {
        if (bar || version === declined) return;
        const refresh = clueline.element("button", { type: "button", class: "quiet" }, "Refresh");
        refresh.addEventListener("click", () => window.location.reload());
        const later = clueline.element("button", { type: "button", class: "quiet" }, "Not now");
        later.addEventListener("click", () => { declined = version; hide(); });
        bar = clueline.element("div", { class: "new-data", role: "status" }, clueline.element("span", {}, "New data has been published."), refresh, later);
        bar.dataset.from = from;
        document.body.append(bar);
    }

    async function look() {
        const page = drawn();
        const version = page && page.dataset.version;
        if (!version || document.visibilityState !== "visible") return;
        try {
            const answer = await window.fetch("/readyz", { cache: "no-store" });
            const now = answer.ok ? (await answer.json()).data_version : null;
            const still = drawn();
            if (now && now !== version && still && still.dataset.version === version) offer(now, version);
        } catch (e) { /* try again next time */ }
    }

    // A page that was drawn since then already has the new data.
    document.addEventListener("arrived", () => {
        const page = drawn();
        if (bar && (!page || page.dataset.version !== bar.dataset.from)) hide();
    });
    document.addEventListener("visibilitychange", look);
    window.setInterval(look, EVERY);
})();
