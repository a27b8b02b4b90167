// The threshold explorer: while a slider moves, its read-out and its dot on the curve follow without asking the server.
(function () {
    "use strict";
    const clueline = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const part = (type, props) => ({ namespace: "dash_html_components", type, props });
    const number = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "\u2212"));
    const element = (id) => document.getElementById(JSON.stringify(Object.fromEntries(Object.entries(id).sort())));

    const blank = (value) => value === null || value === undefined || value === "";
    const same = (a, b) => (blank(a) || blank(b) ? blank(a) && blank(b) : Number(a) === Number(b));

    const drawnAt = {}, writtenAt = {}; // by kind: where a slider was drawn, and the value of it that its box has taken over

    // A released slider fills its run's box, from which the address is written; where it was drawn, with what was drawn there.
    clueline.slid = function (value, drawn, box, id) {
        if (!drawn || blank(value)) return;
        writtenAt[id.kind] = value;
        const said = value === drawn.value ? drawn.box : value;
        if (!same(said, box)) window.dash_clientside.set_props(id, { value: said });
    };

    // The server has drawn: the slider goes where it says. Not if the box says something newer, of which the server has not drawn
    // yet, nor if the slider has been moved since and its box does not know yet.
    clueline.settled = function (drawn, value, box, id) {
        if (!drawn || !same(box, drawn.box)) return;
        const boxId = { role: "control", key: id.key, kind: id.kind };
        const input = element(boxId);
        if (input && input.placeholder !== drawn.placeholder) window.dash_clientside.set_props(boxId, { placeholder: drawn.placeholder });
        const known = value === drawnAt[id.kind] || value === writtenAt[id.kind];
        if (value !== drawn.value && !known) return;
        drawnAt[id.kind] = drawn.value;
        delete writtenAt[id.kind];
        if (value !== drawn.value) window.dash_clientside.set_props({ role: "slide", key: id.key, kind: id.kind }, { value: drawn.value });
    };

    // The listed step in which a threshold lies: the last one that is not above it.
    function step(thresholds, value) {
        let low = 0, high = thresholds.length - 1;
        while (low < high) {
            const middle = Math.ceil((low + high) / 2);
            if (thresholds[middle] <= value) low = middle; else high = middle - 1;
        }
        return low;
    }

    let frame = null;
    const moves = {};
    function moveDot(run, x, y) {
        moves[run] = [x, y];
        if (frame !== null) return;
        frame = window.requestAnimationFrame(() => {
            frame = null;
            const plot = document.querySelector(".figure-wins .js-plotly-plot");
            const changes = {};
            for (const [name, [x, y]] of Object.entries(moves)) {
                delete moves[name];
                const index = plot && plot.layout ? (plot.layout.shapes || []).findIndex((shape) => shape.name === name) : -1;
                if (index < 0) continue;
                changes[`shapes[${index}].xanchor`] = x;
                changes[`shapes[${index}].yanchor`] = y;
            }
            if (Object.keys(changes).length) window.Plotly.relayout(plot, changes);
        });
    }

    // Names a slider's handle, which has no property for it, as soon as it is there.
    function label(id, text, tries = 300) {
        const root = element(id);
        const thumb = root && root.querySelector("[role=slider]");
        if (thumb) thumb.setAttribute("aria-label", text);
        else if (tries) window.requestAnimationFrame(() => label(id, text, tries - 1));
    }

    const moved = new Set(); // kinds whose dot has left the place where it was drawn; a figure that is being made is left alone
    clueline.sliding = function (value, drawn, id) {
        if (!drawn) return window.dash_clientside.no_update;
        label(id, "Threshold of " + drawn.name);
        if (blank(value) || value === drawn.value) drawnAt[id.kind] = drawn.value;
        if (blank(value)) return window.dash_clientside.no_update; // it has just come, and shows what was drawn
        let said = drawn.said;
        if (value !== drawn.value) {
            const at = step(drawn.steps.thresholds, value);
            const of = (name) => (drawn.steps[name] ? drawn.steps[name][at] : null);
            if (drawn.steps.expected_wins) moveDot(drawn.run, value, of("expected_wins"));
            const win = of("win");
            const numbers = [number(of("expected_wins"), 3), number(of("score"), 2), win === null ? "–" : (100 * win).toFixed(1) + " %"];
            said = drawn.said.map(([, what], index) => [numbers[index], what]);
            moved.add(id.kind);
        } else if (moved.delete(id.kind) && drawn.dot) {
            moveDot(drawn.run, ...drawn.dot);
        }
        return said.map(([text, what]) => part("Span", { children: [part("B", { children: text }), " ", what] }));
    };
})();
