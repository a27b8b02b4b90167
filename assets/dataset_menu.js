// The menu of datasets in the header. It has a search box if there are many, and closes like other menus.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const MANY = 8;
    const menu = () => document.querySelector("details.datasets");

    function matching(list, words) {
        const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
        for (const item of list.querySelectorAll("li")) {
            const text = item.textContent.toLowerCase();
            item.hidden = !wanted.every((word) => text.includes(word));
        }
    }
    // Adds a search box above a long list. It is created here, because fragments of the page are read-only.
    function addSearch() {
        const choices = document.querySelector(".datasets [data-search]");
        if (!choices || choices.querySelector("input") || choices.querySelectorAll("li").length <= MANY) return;
        const label = choices.dataset.search;
        const box = clueline.element("input", { type: "search", class: "text", placeholder: label, "aria-label": label });
        box.addEventListener("input", () => matching(choices, box.value));
        choices.prepend(box);
    }
    function close(focus) {
        const open = menu();
        if (!open || !open.open) return;
        open.open = false;
        if (focus) open.querySelector("summary").focus();
    }
    document.addEventListener("filled", addSearch);
    document.addEventListener("toggle", (event) => {
        if (event.target !== menu() || !event.target.open) return;
        addSearch();
        const box = event.target.querySelector("input");
        if (box) { box.value = ""; matching(event.target, ""); box.focus(); }
    }, true);
    document.addEventListener("click", (event) => {
        if (!event.target.closest("details.datasets") || event.target.closest(".datasets a")) close(false);
    });
    document.addEventListener("keydown", (event) => {
        const open = menu();
        if (!open || !open.open) return;
        if (event.key === "Escape") { close(true); return; }
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step || !event.target.closest(".datasets")) return;
        event.preventDefault();
        event.stopPropagation();
        const links = [...open.querySelectorAll("li:not([hidden]) a")];
        const next = links.indexOf(document.activeElement) + step;
        (links[Math.max(0, Math.min(links.length - 1, next))] || open.querySelector("summary")).focus();
    }, true);
})();
