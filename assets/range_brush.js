// Chooses a range on a figure of panels. Drag sideways over a panel to shade the range in every panel. When the pointer is released, the
// drawer lists the answers in this range of the panel's run. A click away from all points closes it.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const FEWEST = 4; // pixels from which a movement is a drag
    const full = (range) => range[0] <= 0 && range[1] >= 1;
    let drag = null, frame = null;
    const dragged = { from: Infinity, until: Infinity }; // from the end of a drag until the next press, in ms

    // Returns whether a click that Plotly reports is the end of a drag.
    clueline.endsDrag = (click) => click.timestamp >= dragged.from && click.timestamp < dragged.until;

    // Returns the horizontal extent of the panel under the pointer, in pixels of the window and in data. A figure of panels has fixed
    // sizes, margins, domains and ranges (figure_colours_and_size.js), so there is no need to ask Plotly.
    function panelAt(plot, event) {
        const { layout } = plot;
        const box = plot.getBoundingClientRect();
        const width = layout.width - layout.margin.l - layout.margin.r, height = layout.height - layout.margin.t - layout.margin.b;
        for (let number = 0; number < layout.meta.panels; number++) {
            const name = number ? String(number + 1) : "";
            const x = layout["xaxis" + name], y = layout["yaxis" + name];
            const left = box.left + layout.margin.l + x.domain[0] * width, right = box.left + layout.margin.l + x.domain[1] * width;
            const top = box.top + layout.margin.t + (1 - y.domain[1]) * height, bottom = box.top + layout.margin.t + (1 - y.domain[0]) * height;
            const inside = event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
            if (inside) return { left: left, width: right - left, range: x.range, items: layout.meta.brush[number] };
        }
        return null;
    }

    function rangeTo(event) {
        const at = (clientX) => {
            const [low, high] = drag.panel.range;
            const value = low + ((clientX - drag.panel.left) / drag.panel.width) * (high - low);
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

    document.addEventListener("pointerdown", (event) => {
        dragged.until = Math.min(dragged.until, Date.now());
        const plot = event.button === 0 && event.target.closest ? event.target.closest(".js-plotly-plot") : null;
        const meta = (plot && plot.layout && plot.layout.meta) || {};
        const panel = meta.brush ? panelAt(plot, event) : null;
        if (panel) drag = { plot: plot, panel: panel, from: event.clientX, moved: false, before: meta.range };
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
        if (!range) return;
        Object.assign(dragged, { from: Date.now(), until: Infinity });
        shade(done.plot, range);
        clueline.openItems(`${done.panel.items}&confidence=${range.join("..")}`);
    }, true);
    document.addEventListener("pointercancel", () => {
        if (drag) shade(drag.plot, drag.before);
        drag = null;
    }, true);

    // A callback of clicks on a figure of panels, including clicks away from all points ("clickanywhere").
    callbacks.clearRange = function (click, id) {
        const meta = ((clueline.drawnFigure(id.figure) || {}).layout || {}).meta || {};
        if (click && meta.brush && !clueline.endsDrag(click) && !full(meta.range) && !(click.points || []).length) clueline.openItems("");
    };
})();
