// Buttons that change the store: they ask for what is needed in a dialogue, send one request, and reload the page.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const DONE = "clueline-done"; // message about the change, shown after the page is reloaded

    function say(text, bad, undo) {
        const place = document.getElementById("change-message");
        if (!place) return;
        place.textContent = text;
        place.className = bad ? "status-message bad" : "status-message";
        if (undo) {
            const button = clueline.element("button", { type: "button", class: "quiet", "data-send": undo, "data-done": "Undone." }, "Undo");
            place.append(" ", button);
        }
        place.scrollIntoView({ block: "nearest" });
    }

    // Sends a change. A leading "METHOD " names the method; data-then is the page to open instead of reloading this one.
    function send(button, values) {
        const [method, address] = button.dataset.send.split(" ");
        const body = { ...JSON.parse(button.dataset.body || "{}"), ...values };
        button.disabled = true;
        say("One moment…", false);
        clueline.api.send(method, address, Object.keys(body).length ? JSON.stringify(body) : null, (status, answer) => {
            button.disabled = false;
            if (status < 200 || status > 299) {
                say(clueline.api.explain(status, answer), true);
                const field = document.getElementById("token");
                if ((status === 401 || status === 403) && field) field.focus();
                return;
            }
            const done = JSON.stringify([button.dataset.done, button.dataset.undo || ""]);
            try { window.sessionStorage.setItem(DONE, done); } catch (e) { /* the lists show it, too */ }
            const then = values[button.dataset.then];
            if (then) window.location.assign(`/models/${encodeURIComponent(then)}`);
            else window.location.reload();
        });
    }

    // Asks for the values of the fields: [[key, label, value], ...].
    function ask(button, fields) {
        const inputs = fields.map(([key, label, value]) => {
            const input = clueline.element("input", { class: "text", name: key, id: `change-${key}`, maxlength: 2000, autocomplete: "off" });
            input.value = value;
            return [input, clueline.element("label", { for: input.id }, label)];
        });
        const cancel = clueline.element("button", { type: "button", class: "quiet" }, "Cancel");
        const form = clueline.element("form", { method: "dialog" },
            clueline.element("h2", {}, button.dataset.title || button.textContent),
            ...inputs.map(([input, label]) => clueline.element("p", {}, label, input)),
            clueline.element("p", { class: "change-buttons" },
                clueline.element("button", { class: "quiet primary" }, button.textContent), cancel));
        const dialog = clueline.element("dialog", { class: "change", "aria-label": button.dataset.title || button.textContent }, form);
        cancel.addEventListener("click", () => dialog.close());
        dialog.addEventListener("close", () => dialog.remove());
        form.addEventListener("submit", () => send(button, Object.fromEntries(inputs.flatMap(([input]) => {
            if (input.name !== "=") return [[input.name, input.value]];
            const [name, ...value] = input.value.split("="); // a further one, as NAME=VALUE
            return name.trim() ? [[name.trim(), value.join("=")]] : [];
        }))));
        document.body.append(dialog);
        dialog.showModal();
    }

    document.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-send]");
        if (!button || button.disabled) return;
        if (document.querySelector(".api-token[data-mode=token]") && !clueline.api.token()) {
            clueline.api.ask();
            say("This server asks for a token. Enter it in the field above and try again.", true);
            document.getElementById("token").focus();
            return;
        }
        const fields = JSON.parse(button.dataset.fields || "[]");
        if (fields.length) ask(button, fields);
        else send(button, {});
    });

    document.addEventListener("arrived", () => {
        if (!document.getElementById("change-message")) return;
        try {
            const message = window.sessionStorage.getItem(DONE);
            window.sessionStorage.removeItem(DONE);
            if (message) say(JSON.parse(message)[0], false, JSON.parse(message)[1]);
        } catch (e) { /* storage can be switched off */ }
    });
})();
