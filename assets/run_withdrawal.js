// Withdraws and restores runs.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const DONE = "clueline-done"; // message about the change, shown after the page is reloaded

    function say(text, bad) {
        const place = document.getElementById("runs-message");
        if (!place) return;
        place.textContent = text;
        place.className = bad ? "status-message bad" : "status-message";
        place.scrollIntoView({ block: "nearest" });
    }

    document.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-change]");
        if (!button || button.disabled) return;
        const field = document.getElementById("token");
        if (field && !clueline.api.token()) {
            say("This server asks for a token. Enter it in the field above and try again.", true);
            field.focus();
            return;
        }
        const address = `/api/v1/runs/${encodeURIComponent(button.dataset.run)}`;
        const restores = button.dataset.change === "restore";
        button.disabled = true;
        say(restores ? "Restoring…" : "Withdrawing…", false);
        clueline.api.send(restores ? "POST" : "DELETE", restores ? `${address}/restore` : address, null, (status, answer) => {
            button.disabled = false;
            if (status !== 200) {
                say(clueline.api.explain(status, answer), true);
                if ((status === 401 || status === 403) && field) field.focus();
                return;
            }
            const done = `${button.dataset.name} (run ${button.dataset.run}) was ${restores ? "restored" : "withdrawn"}.`;
            try { window.sessionStorage.setItem(DONE, done); } catch (e) { /* the lists show it, too */ }
            window.location.reload();
        });
    });

    document.addEventListener("arrived", () => {
        if (!document.getElementById("runs-message")) return;
        try {
            const message = window.sessionStorage.getItem(DONE);
            window.sessionStorage.removeItem(DONE);
            if (message) say(message, false);
        } catch (e) { /* storage can be switched off */ }
    });
})();
