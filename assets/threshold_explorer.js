// The threshold explorer: a slider's read-out and its dot on the curve follow the slider without asking the server.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const blank = (value) => value === null || value === undefined || value === "";
    const same = (a, b) => (blank(a) || blank(b) ? blank(a) && blank(b) : Number(a) === Number(b));
    const name = (id) => `${id.scale} ${id.run}`; // name of a slider

    const drawnAt = {}, writtenAt = {}; // by slider: the value at which it was drawn, and the value that was passed on to its box

    // A callback: a released slider fills its run's box, from which the address is written. At the value at which it was drawn, it
    // fills in the box's text as it was drawn.
    callbacks.releaseSlider = function (value, drawn, box, id) {
        if (!drawn || blank(value)) return;
        writtenAt[name(id)] = value;
        const text = value === drawn.value ? drawn.box : value;
        if (!same(text, box)) window.dash_clientside.set_props(id, { value: text });
    };

    // A callback: the server has drawn, and the slider moves to the drawn value. It does not if the box has a newer value that the
    // server has not drawn yet, or if the slider was moved since then and its box has not been updated yet.
    callbacks.placeSlider = function (drawn, value, box, slider, control) {
        if (!drawn || !same(box, drawn.box)) return;
        const input = clueline.component(control);
        if (input && input.placeholder !== drawn.placeholder) window.dash_clientside.set_props(control, { placeholder: drawn.placeholder });
        const known = value === drawnAt[name(slider)] || value === writtenAt[name(slider)];
        if (value !== drawn.value && !known) return;
        drawnAt[name(slider)] = drawn.value;
        delete writtenAt[name(slider)];
        if (value !== drawn.value) window.dash_clientside.set_props(slider, { value: drawn.value });
    };

    // Returns the step of a threshold: the index of the last listed threshold that is not above it.
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
            const plot = clueline.plot("wins");
            const changes = {};
            for (const [run, [x, y]] of Object.entries(moves)) {
                delete moves[run];
                const index = plot && plot.layout ? (plot.layout.shapes || []).findIndex((shape) => shape.name === run) : -1;
                if (index < 0) continue;
                changes[`shapes[${index}].xanchor`] = x;
                changes[`shapes[${index}].yanchor`] = y;
            }
            if (Object.keys(changes).length) window.Plotly.relayout(plot, changes);
        });
    }

    // Names a slider's handle as soon as it is there, because Dash has no property for its name.
    function label(id, text, tries = 300) {
        const root = clueline.component(id);
        const thumb = root && root.querySelector("[role=slider]");
        if (thumb) thumb.setAttribute("aria-label", text);
        else if (tries) window.requestAnimationFrame(() => label(id, text, tries - 1));
    }

    // A callback: updates the read-out of a slider while it moves and when the server has drawn it.
    const moved = new Set(); // sliders whose dot was moved from where it was drawn; a figure that is being drawn is left alone
    callbacks.followSlider = function (value, drawn, id) {
        if (!drawn) return window.dash_clientside.no_update;
        label(id, "Threshold of " + drawn.name);
        if (blank(value) || value === drawn.value) drawnAt[name(id)] = drawn.value;
        if (blank(value)) return window.dash_clientside.no_update; // the slider is new and shows what was drawn
        let numbers = drawn.numbers;
        if (value !== drawn.value) {
            const at = step(drawn.steps.thresholds, value);
            const worth = (key) => (drawn.steps[key] ? drawn.steps[key][at] : null);
            if (drawn.steps.expected_wins) moveDot(drawn.run, value, worth("expected_wins"));
            numbers = [clueline.short(worth("expected_wins")), clueline.short(worth("score"), 2), clueline.percent(worth("win"))];
            moved.add(name(id));
        } else if (moved.delete(name(id)) && drawn.dot) {
            moveDot(drawn.run, ...drawn.dot);
        }
        const readout = document.querySelector(`.threshold[data-run="${CSS.escape(drawn.run)}"] .readout`);
        if (readout) readout.querySelectorAll("b").forEach((number, place) => { number.textContent = numbers[place]; });
        return window.dash_clientside.no_update;
    };
})();
