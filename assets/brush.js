// A range of the address that is chosen on a figure: drag sideways over a panel, and every panel shades it; the control of the range,
// from which the address is written, takes it over when the pointer is let go. A click beside every point, or a double click, clears it.
(function () {
    "use strict";
    const FEWEST = 4; // pixels that are a drag
    const TWICE = 400; // milliseconds within which two clicks are a double one
    const meta = (plot) => ((plot && plot.layout) || {}).meta || {};
    const control = (key) => ({ role: "control", key: key, kind: "range" });
    const full = (range) => range[0] <= 0 && range[1] >= 1;
    let drag = null, frame = null, pressed = -Infinity;

    // The horizontal axis of the panel under the pointer.
    function axisAt(plot, event) {
        const box = plot.getBoundingClientRect();
        const x = event.clientX - box.left, y = event.clientY - box.top;
        const inside = (axis, at) => at >= axis._offset && at <= axis._offset + axis._length;
        const panel = Object.values((plot._fullLayout || {})._plots || {}).find((one) => inside(one.xaxis, x) && inside(one.yaxis, y));
        return panel ? panel.xaxis : null;
    }

    function rangeTo(event) {
        const at = (clientX) => {
            const value = drag.axis.p2d(clientX - drag.plot.getBoundingClientRect().left - drag.axis._offset);
            return Math.round(100 * Math.min(Math.max(value, 0), 1)) / 100;
        };
        const ends = [at(drag.from), at(event.clientX)].sort((a, b) => a - b);
        return ends[0] < ends[1] ? ends : ends[0] < 1 ? [ends[0], ends[0] + 0.01] : [0.99, 1];
    }

    function shade(plot, range) {
        const changes = {};
        (plot.layout.shapes || []).forEach((shape, index) => {
            if (shape.name !== "brush") return;
            changes[`shapes[${index}].x0`] = range[0];
            changes[`shapes[${index}].x1`] = range[1];
            changes[`shapes[${index}].visible`] = !full(range);
        });
        return window.Plotly.relayout(plot, changes);
    }

    const choose = (key, range) => window.dash_clientside.set_props(control(key), { value: range });

    document.addEventListener("pointerdown", (event) => {
        const plot = event.button === 0 && event.target.closest ? event.target.closest(".js-plotly-plot") : null;
        const key = meta(plot).brush;
        const axis = key ? axisAt(plot, event) : null;
        if (!axis) return;
        drag = { plot: plot, key: key, axis: axis, from: event.clientX, moved: false, before: meta(plot).range || [0, 1] };
    }, true);
    document.addEventListener("pointermove", (event) => {
        if (!drag) return;
        drag.moved = drag.moved || Math.abs(event.clientX - drag.from) >= FEWEST;
        if (!drag.moved) return;
        drag.now = rangeTo(event);
        if (frame === null) frame = window.requestAnimationFrame(() => { frame = null; if (drag && drag.now) shade(drag.plot, drag.now); });
    }, true);
    document.addEventListener("pointerup", (event) => {
        if (!drag) return;
        const done = drag, range = done.moved ? rangeTo(event) : null;
        drag = null;
        if (range) {
            shade(done.plot, range);
            choose(done.key, range);
            return;
        }
        const twice = event.timeStamp - pressed < TWICE; // Plotly lets no double click through
        pressed = event.timeStamp;
        if (!full(done.before) && (twice || !(done.plot._hoverdata || []).length)) choose(done.key, [0, 1]);
    }, true);
    document.addEventListener("pointercancel", () => {
        if (drag) shade(drag.plot, drag.before);
        drag = null;
    }, true);
})();
