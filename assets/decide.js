// Answer or abstain: lines and dots in the figures, and the table, follow the slider for t without asking the server.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const LINES = ["net", "murphy", "murphy-difference"]; // figures with a line at t
    const DOTS = { "risk-coverage": false, "accuracy-coverage": true }; // figures with a dot per run, and whether they show accuracy

    let runs = null; // curves by run id, with a value for each percent of t
    let chosen = null; // t on the slider
    const place = (t) => Math.min(Math.round(100 * t), 99);

    // Returns the changes in the shapes of a figure for the chosen t, in the form of Plotly.relayout.
    function moved(name, shapes) {
        const changes = {};
        (shapes || []).forEach((shape, index) => {
            if (shape.name === "t") {
                changes[`shapes[${index}].x0`] = chosen;
                changes[`shapes[${index}].x1`] = chosen;
                return;
            }
            const run = name in DOTS && runs[shape.name];
            if (!run) return;
            const risk = run.risk[place(chosen)];
            changes[`shapes[${index}].visible`] = risk !== null;
            changes[`shapes[${index}].xanchor`] = run.answered[place(chosen)];
            if (risk !== null) changes[`shapes[${index}].yanchor`] = DOTS[name] ? 1 - risk : risk;
        });
        return changes;
    }

    // A figure that arrives after the slider was moved gets its shapes at the slider's t.
    clueline.adjustments = clueline.adjustments || {};
    for (const name of [...LINES, ...Object.keys(DOTS)]) {
        clueline.adjustments[name] = (figure) => {
            if (chosen === null || !runs) return;
            for (const [key, value] of Object.entries(moved(name, figure.layout.shapes))) {
                const [, index, property] = /^shapes\[(\d+)\]\.(.+)$/.exec(key);
                figure.layout.shapes[index][property] = value;
            }
        };
    }

    let frame = null;
    function follow() {
        frame = null;
        if (chosen === null || !runs) return;
        for (const name of [...LINES, ...Object.keys(DOTS)]) {
            const plot = clueline.plot(name);
            const changes = plot && plot.layout ? moved(name, plot.layout.shapes) : {};
            if (Object.keys(changes).length) window.Plotly.relayout(plot, changes);
        }
        const words = document.querySelector(".decide-cost .cost");
        if (words) {
            const cost = clueline.short(chosen / (1 - chosen), 2);
            words.textContent = `t = ${clueline.short(chosen, 2)}: a wrong answer costs ${cost} right ones; answer where the confidence is above t`;
        }
        for (const row of document.querySelectorAll("table.decide tr[data-run]")) {
            for (const cell of row.querySelectorAll("[data-part]")) {
                const curve = (runs[row.dataset.run] || {})[cell.dataset.part];
                if (curve) (cell.querySelector("a") || cell).textContent = withInterval(...curve.map((values) => values[place(chosen)]));
            }
        }
    }
    function withInterval(value, low, high) {
        const missing = [value, low, high].some((number) => number === null || number === undefined);
        return missing ? clueline.short(value) : `${clueline.short(value)} [${clueline.short(low)}, ${clueline.short(high)}]`;
    }

    // Names the slider's handle once it is there, because Dash has no property for its name.
    document.addEventListener("DOMContentLoaded", () => {
        clueline.whenever(".decide-cost [role=slider]", (thumb) => thumb.setAttribute("aria-label", "t: what a wrong answer costs"));
    });

    // A callback: the slider moved, or the server has drawn.
    callbacks.followCost = function (value, drawn) {
        runs = drawn ? drawn.runs : null;
        if (value !== null && value !== undefined) chosen = value;
        if (frame === null) frame = window.requestAnimationFrame(follow);
        return window.dash_clientside.no_update;
    };
    document.addEventListener("arrived", () => { if (!document.querySelector(".decide-cost")) chosen = runs = null; });
})();
