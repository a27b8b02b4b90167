// Fragments of addresses: /metrics#ece shows its entry, though the page is drawn after the address was read.
(function () {
    "use strict";
    // MathJax makes an empty configuration of its own when Dash fetches it; Dash must find none before that. Its menu would make
    // every formula a tab stop, and what it offers is fetched from another host.
    let mathjax;
    Object.defineProperty(window, "MathJax", {
        configurable: true,
        get: () => mathjax,
        set: (value) => {
            if (value && !value.version && !value.options) value.options = { enableMenu: false };
            mathjax = value;
        },
    });

    const PATIENCE = 6000; // ms in which a page may still grow above the place
    let until = 0;

    function place() {
        const id = decodeURIComponent(window.location.hash.slice(1));
        return id ? document.getElementById(id) : null;
    }

    // Stays at the place while formulas above it are being set, until somebody scrolls.
    function follow() {
        const element = place();
        if (element) {
            const off = element.getBoundingClientRect().top - parseFloat(getComputedStyle(element).scrollMarginTop || 0);
            if (Math.abs(off) > 2) element.scrollIntoView();
        }
        if (Date.now() < until) window.setTimeout(follow, 80);
    }

    function start() {
        const already = until > Date.now();
        until = window.location.hash ? Date.now() + PATIENCE : 0;
        if (until && !already) follow();
    }

    for (const event of ["wheel", "touchstart", "keydown", "pointerdown"]) {
        window.addEventListener(event, () => { until = 0; }, { passive: true, capture: true });
    }
    window.addEventListener("popstate", start);
    window.addEventListener("_dashprivate_pushstate", start);

    // Within a page, the fragment is replaced: Dash would take a new entry in the history for another page and draw it anew.
    document.addEventListener("click", (event) => {
        const link = event.target.closest('a[href^="#"]:not(.skip)');
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        window.history.replaceState(window.history.state, "", link.getAttribute("href"));
        const element = place();
        if (!element) return;
        element.scrollIntoView();
        element.tabIndex = -1;
        element.focus({ preventScroll: true });
    });
    start();
})();
