// Shared by the pages that change the store: the token, requests, and messages about failed requests.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const KEY = "clueline-token"; // in the session storage, so it is gone with the tab and never in an address

    function kept() {
        try { return window.sessionStorage.getItem(KEY) || ""; } catch (e) { return ""; }
    }

    // Adds the field for a token, if this server asks for one; an open server asks for one only to delete. Pages that mostly show
    // something (data-when="asked") get it only once a change needs it, or if a token is kept.
    function field(host, asked = false) {
        const wanted = host.dataset.mode === "token" && (host.dataset.when !== "asked" || kept());
        if (host.dataset.built || !(asked === true || wanted)) return;
        host.dataset.built = "yes";
        const input = clueline.element("input", {
            type: "password", id: "token", autocomplete: "off", spellcheck: "false", maxlength: "200", class: "text",
            "aria-describedby": "token-note",
        });
        input.value = kept();
        input.addEventListener("input", () => {
            try { window.sessionStorage.setItem(KEY, input.value.trim()); } catch (e) { /* it is still in the field */ }
        });
        host.append(
            clueline.element("label", { for: "token" }, "Token"), input,
            clueline.element("span", { id: "token-note", class: "note" },
                "You get one from the operator of this server (clueline token create NAME). It is stored in this tab only."));
    }

    // Adds the field wherever the page has a place for it.
    function ask() {
        for (const host of document.querySelectorAll(".api-token")) field(host, true);
    }

    function token() {
        const input = document.getElementById("token");
        return input ? input.value.trim() : "";
    }

    // Sends a request and returns it, so that it can be aborted. done gets the status (0 for no response) and the response as an object.
    function send(method, address, body, done, progress) {
        const request = new XMLHttpRequest();
        request.open(method, address);
        // Other characters cannot be sent in a header. They are not part of any token of ours, as the server will say.
        if (token()) request.setRequestHeader("Authorization", `Bearer ${token().replace(/[^\x21-\x7e]/g, "?")}`);
        if (progress) request.upload.addEventListener("progress", progress);
        request.addEventListener("loadend", () => {
            if (request.cancelled) return;
            let content = {};
            try { content = JSON.parse(request.responseText) || {}; } catch (e) { /* the response is not ours */ }
            done(request.status, content, request);
        });
        request.send(body);
        return request;
    }

    // Returns a message about a failed request, in the words of a page.
    function explain(status, content) {
        const error = content.error || {};
        if (status === 0) {
            return "The connection was lost before the server answered. Nothing that you typed is lost; try again. " +
                "Sending the same file twice does no harm.";
        }
        if (error.code === "no_token") {
            ask();
            return "This server asks for a token. Enter it in the field above and try again.";
        }
        if (error.code === "wrong_token") return "The server does not know this token. Correct it in the field above and try again.";
        if (error.message) {
            const allowed = (error.allowed || []).length ? ` Allowed values: ${error.allowed.slice(0, 20).join(", ")}.` : "";
            return error.message + allowed;
        }
        return `The server answered with status ${status} and gave no reason; try again in a moment.`;
    }

    clueline.api = { field: field, ask: ask, token: token, send: send, explain: explain };
    document.addEventListener("arrived", () => document.querySelectorAll(".api-token").forEach(field));
})();
