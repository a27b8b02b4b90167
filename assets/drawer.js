// The drawer with the answers behind a mark (dashboard/views/items.py). The server draws it, and assets/address.js opens it; this
// script moves the focus into it and back.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const drawer = () => document.getElementById("drawer");
    const isOpen = () => Boolean(drawer()) && !drawer().hidden;
    let opener = null, asked = false; // what had the focus before, and whether the drawer was just asked for

    const open = clueline.openItems;
    clueline.openItems = function (items) {
        asked = Boolean(items);
        if (items && !isOpen()) opener = document.activeElement;
        open(items);
    };
    function close() {
        clueline.openItems("");
    }

    document.addEventListener("filled", ({ target }) => {
        if (!target.querySelector("#drawer")) return;
        const items = isOpen() ? new URLSearchParams(window.location.search).get("items") : null;
        for (const mark of document.querySelectorAll("#content a[data-items]")) mark.ariaCurrent = mark.dataset.items === items ? "true" : null;
        if (isOpen() && asked) drawer().querySelector("h2").focus();
        if (!isOpen() && opener && opener.isConnected) opener.focus();
        if (!isOpen()) opener = null;
        asked = false;
    });
    document.addEventListener("keydown", (event) => {
        const elsewhere = document.querySelector("dialog[open], .dash-dropdown-content");
        if (event.key === "Escape" && isOpen() && !elsewhere && !event.defaultPrevented) close();
    });
})();
