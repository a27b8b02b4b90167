// Withdraws and restores runs.
(function () {
    "use strict";
    const api = window.cluelineApi;
    const SAID = "clueline-said"; // what is to be said once the page is drawn anew

    function say(text, bad) {
        const place = document.getElementById("runs-said");
        if (!place) return;
        place.textContent = text;
        place.className = bad ? "said bad" : "said";
        place.scrollIntoView({ block: "nearest" });
    }

    document.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-change]");
        if (!button || button.disabled) return;
        const field = document.getElementById("token");
        if (field && !api.token()) {
            say("This server asks for a token: put it into the field above and try again.", true);
            field.focus();
            return;
        }
        const address = `/api/v1/runs/${encodeURIComponent(button.dataset.run)}`;
        const restores = button.dataset.change === "restore";
        button.disabled = true;
        say(restores ? "Restoring…" : "Withdrawing…", false);
        api.send(restores ? "POST" : "DELETE", restores ? `${address}/restore` : address, null, (status, answer) => {
            button.disabled = false;
            if (status !== 200) {
                say(api.explain(status, answer), true);
                if ((status === 401 || status === 403) && field) field.focus();
                return;
            }
            const done = `${button.dataset.name} (run ${button.dataset.run}) was ${restores ? "restored" : "withdrawn"}.`;
            try { window.sessionStorage.setItem(SAID, done); } catch (e) { /* the lists say it too */ }
            window.location.reload();
        });
    });

    api.whenever("#runs-said", (place) => {
        if (place.dataset.built) return;
        place.dataset.built = "yes";
        try {
            const said = window.sessionStorage.getItem(SAID);
            window.sessionStorage.removeItem(SAID);
            if (said) say(said, false);
        } catch (e) { /* storage may be switched off */ }
    });
})();
