// The list of keyboard shortcuts, opened by "?" or by its button.
(function () {
    "use strict";
    const open = () => { const dialog = document.getElementById("keys"); if (dialog && !dialog.open) dialog.showModal(); };
    document.addEventListener("click", (event) => { if (event.target.closest && event.target.closest("[data-opens=keys]")) open(); });
    document.addEventListener("keydown", (event) => {
        if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
        event.preventDefault();
        open();
    });
})();
