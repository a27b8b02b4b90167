// What the pages that change the store share: the token, requests, and what went wrong with one in words.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const KEY = "clueline-token"; // of the session's storage: gone with the tab, and never in an address

    function kept() {
        try { return window.sessionStorage.getItem(KEY) || ""; } catch (e) { return ""; }
    }

    // The field for a token; nothing where none is asked for.
    function field(host) {
        if (host.dataset.built) return;
        host.dataset.built = "yes";
        if (host.dataset.mode !== "token") return;
        const input = clueline.element("input", {
            type: "password", id: "token", autocomplete: "off", spellcheck: "false", maxlength: "200", class: "text",
            "aria-describedby": "token-note",
        });
        input.value = kept();
        input.addEventListener("input", () => {
            try { window.sessionStorage.setItem(KEY, input.value.trim()); } catch (e) { /* it stands in the field */ }
        });
        host.append(
            clueline.element("label", { for: "token" }, "Token"), input,
            clueline.element("span", { id: "token-note", class: "note" },
                "From the operator of this server (python -m dashboard token create NAME). Kept in this tab only."));
    }

    function token() {
        const input = document.getElementById("token");
        return input ? input.value.trim() : "";
    }

    // A request; done gets the status (0: no answer) and the answer, an object. Returns what can be aborted.
    function send(method, address, body, done, progress) {
        const request = new XMLHttpRequest();
        request.open(method, address);
        // Only what can stand in a header; anything else is no token of ours, and the server says so.
        if (token()) request.setRequestHeader("Authorization", `Bearer ${token().replace(/[^\x21-\x7e]/g, "?")}`);
        if (progress) request.upload.addEventListener("progress", progress);
        request.addEventListener("loadend", () => {
            if (request.cancelled) return;
            let content = {};
            try { content = JSON.parse(request.responseText) || {}; } catch (e) { /* no answer of ours */ }
            done(request.status, content, request);
        });
        request.send(body);
        return request;
    }

    // What went wrong with an answer that is no success, in words of a page.
    function explain(status, content) {
        const error = content.error || {};
        if (status === 0) {
            return "The connection was lost before the server answered. Nothing that you typed is lost: try again. " +
                "Sending the same file twice does no harm.";
        }
        if (error.code === "no_token") return "This server asks for a token: put it into the field above and try again.";
        if (error.code === "wrong_token") return "The server does not know this token. Correct it in the field above and try again.";
        if (error.message) {
            const allowed = (error.allowed || []).length ? ` It can be: ${error.allowed.slice(0, 20).join(", ")}.` : "";
            return error.message + allowed;
        }
        return `The server answered with status ${status} and no reason; try again in a moment.`;
    }

    clueline.api = { field: field, token: token, send: send, explain: explain };
    document.addEventListener("arrived", () => document.querySelectorAll(".api-token").forEach(field));
})();
