// Figures come from the server with CSS variables for colours. This script sets the theme's colours and the width on the page before it
// passes them to Dash's graphs.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const frameOf = (name) => document.querySelector(`#content [data-figure="${CSS.escape(name)}"]`);
    clueline.plot = (name) => document.querySelector(`#content [data-figure="${CSS.escape(name)}"] .js-plotly-plot`);

    function resolved(value, style) {
        if (typeof value === "string") {
            const name = /^var\((--[a-z0-9-]+)\)$/.exec(value);
            return name ? style.getPropertyValue(name[1]).trim() : value;
        }
        if (Array.isArray(value)) return value.map((part) => resolved(part, style));
        if (value && typeof value === "object") {
            return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolved(part, style)]));
        }
        return value;
    }

    // Small multiples: sets the position of each panel's axes, with as many columns as fit into a width.
    const GAP = { x: 44, y: 54 };
    function arrange(layout, width) {
        const meta = layout.meta;
        const inside = Math.max(width - layout.margin.l - layout.margin.r, 200);
        const most = Math.max(1, Math.min(meta.panels, Math.floor((inside + GAP.x) / (meta.width + GAP.x))));
        const rows = Math.ceil(meta.panels / most);
        const columns = Math.ceil(meta.panels / rows); // makes rows as even as possible
        const wide = (inside - GAP.x * (columns - 1)) / columns;
        const across = rows > 1 ? wide : Math.min(wide, 1.35 * meta.width);
        const down = rows * meta.height + (rows - 1) * GAP.y;
        for (let panel = 0; panel < meta.panels; panel++) {
            const name = panel === 0 ? "" : String(panel + 1);
            const left = (panel % columns) * (across + GAP.x);
            const top = Math.floor(panel / columns) * (meta.height + GAP.y);
            layout["xaxis" + name].domain = [left / inside, Math.min((left + across) / inside, 1)];
            layout["yaxis" + name].domain = [Math.max(1 - (top + meta.height) / down, 0), 1 - top / down];
        }
        layout.height = down + layout.margin.t + layout.margin.b;
    }

    // On a narrow screen, names of rows stand above their dots, and fields of a heat map have no numbers: there is no room for both.
    const NARROW = 560; // pixels
    const LETTER = 6.5; // width of a letter in pixels, about
    const LINE = 14; // height of a name in pixels
    function withNamesAbove({ data, layout }, width) {
        const { ticktext = [], tickvals, tickfont, range } = layout.yaxis || {};
        const names = ticktext.map((name) => String(name).replace(/ ?<br>/g, " "));
        if (Math.max(0, ...names.map((name) => name.length)) * LETTER < width / 3) return;
        for (const trace of data) if (trace.type === "heatmap") trace.texttemplate = "";
        if (layout.xaxis2 || !data.every((trace) => trace.type === "scatter")) return;
        const above = { x: 0, xref: "paper", xanchor: "left", yanchor: "bottom", yshift: 6, showarrow: false, font: tickfont };
        layout.annotations = [...(layout.annotations || []), ...names.map((text, place) => ({ ...above, text, y: tickvals[place] }))];
        layout.height += LINE * names.length;
        Object.assign(layout.yaxis, { showticklabels: false, range: [range[0], range[1] - 0.5] });
    }

    // Nor do names next to lines leave room for the lines. The legend above has them, too.
    function withoutLabels(layout) {
        const left = (layout.annotations || []).filter((annotation) => annotation.name !== "end-label");
        if (left.length === (layout.annotations || []).length) return;
        layout.annotations = left;
        if (!(layout.meta || {}).panels) layout.margin.r = 20;
    }

    // -- painting

    // For the print style: how much a tall figure must shrink to fit on a page below a heading.
    const PAPER = 720; // pixels
    const LEGIBLE = 0.6; // below this zoom, the text of a figure cannot be read on paper
    function prepareForPaper(frame, height) {
        const owner = frame.closest("figure");
        const zoom = PAPER / height;
        owner.classList.toggle("fits-paper", zoom < 1 && zoom >= LEGIBLE);
        owner.classList.toggle("exceeds-paper", zoom < LEGIBLE);
        frame.style.setProperty("--height", height + "px");
        frame.style.setProperty("--paper-zoom", zoom.toFixed(3));
    }

    // By name of a figure: a function that changes it before it is painted, such as the current position of a cursor.
    clueline.adjustments = clueline.adjustments || {};
    const painted = new WeakMap(); // frame -> the figure that its graph got last

    // A drag zooms, unless the figure says that it chooses a range (range_brush.js), and a double click resets. On a touch screen, it
    // scrolls the page. Rows with names keep their places.
    const ZOOMS = window.matchMedia("(pointer: fine)").matches;
    const brushes = (layout) => Boolean((layout.meta || {}).brush && clueline.endsDrag);
    function makeZoomable(layout) {
        layout.dragmode = "zoom";
        for (const [key, axis] of Object.entries(layout)) {
            if (/^[xy]axis\d*$/.test(key)) axis.fixedrange = Boolean(axis.ticktext || axis.type === "category");
        }
    }

    // Returns a figure at a width, in the colours of the theme. With a fixed size, Plotly does not redraw when the page changes.
    clueline.figureAt = function (name, width) {
        const figure = resolved(clueline.drawnFigure(name), window.getComputedStyle(document.documentElement));
        figure.layout.width = width;
        if (width < NARROW) {
            withoutLabels(figure.layout);
            withNamesAbove(figure, width);
        }
        if ((figure.layout.meta || {}).panels) arrange(figure.layout, width);
        if (ZOOMS && !brushes(figure.layout)) makeZoomable(figure.layout);
        if (clueline.adjustments[name]) clueline.adjustments[name](figure);
        return figure;
    };

    // Returns the properties of a graph: its figure in the theme's colours and at the width of its frame; empty without a frame.
    clueline.prepared = function (name) {
        const frame = frameOf(name);
        const drawn = clueline.drawnFigure(name);
        if (!frame || !drawn || !frame.clientWidth) return {};
        const figure = clueline.figureAt(name, frame.clientWidth);
        const before = painted.get(frame);
        painted.set(frame, figure);
        frame.style.height = figure.layout.height + "px";
        prepareForPaper(frame, figure.layout.height);
        return { figure: figure, animate: Boolean(before && clueline.plot(name) && moves(figure, before)) };
    };
    clueline.frameHeight = (name) => (painted.get(frameOf(name)) || clueline.drawnFigure(name)).layout.height;
    function paintNow(name) {
        const props = clueline.prepared(name);
        if (props.figure) window.dash_clientside.set_props({ role: "figure", figure: name }, props);
    }

    // Figures in view are painted at once. The others are painted one at a time when the browser is idle, or when they are scrolled
    // into view: a figure takes about 50 ms, and nobody waits for figures out of view. Until then, a frame is marked as busy.
    const NEAR = 200; // pixels above and below the window
    const waiting = new Set(); // names of figures
    const whenIdle = window.requestIdleCallback
        ? (act) => window.requestIdleCallback(act, { timeout: 1000 })
        : (act) => window.setTimeout(act, 50);
    function seen(frame) {
        const { top, bottom } = frame.getBoundingClientRect();
        return bottom > -NEAR && top < window.innerHeight + NEAR;
    }
    clueline.paint = function (name) {
        const frame = frameOf(name);
        if (!frame || seen(frame)) { release(name, frame); return; }
        frame.setAttribute("aria-busy", "true");
        if (!waiting.size) whenIdle(paintNext);
        waiting.add(name);
    };
    function release(name, frame) {
        waiting.delete(name);
        if (!frame) return;
        frame.removeAttribute("aria-busy");
        paintNow(name);
    }
    function paintNext() {
        const [name] = waiting;
        if (name !== undefined) release(name, frameOf(name));
        if (waiting.size) whenIdle(paintNext);
    }
    const scrolled = new IntersectionObserver((entries) => {
        for (const { isIntersecting, target } of entries) {
            if (isIntersecting && waiting.has(target.dataset.figure)) release(target.dataset.figure, target);
        }
    }, { rootMargin: NEAR + "px 0px" });
    window.addEventListener("beforeprint", () => waiting.forEach((name) => release(name, frameOf(name))));
    const paintAll = () => document.querySelectorAll("#content [data-figure]").forEach((frame) => clueline.paint(frame.dataset.figure));

    // Frames are painted when they are added to the page, and when their width changes.
    const widths = new ResizeObserver((entries) => {
        for (const { target } of entries) {
            const before = painted.get(target);
            if (!before || before.layout.width !== target.clientWidth) clueline.paint(target.dataset.figure);
        }
    });
    clueline.whenever("[data-figure]", (frame) => { widths.observe(frame); scrolled.observe(frame); });

    // Returns whether a figure differs from another only in numbers and texts of its traces. Then Plotly can move what is drawn
    // ("animate", without delay) instead of redrawing it, which takes half the time or less if there are many panels.
    function moves(figure, before) {
        if (figure.data.length !== before.data.length || JSON.stringify(figure.layout) !== JSON.stringify(before.layout)) return false;
        const axes = Object.keys(figure.layout).filter((name) => /^[xy]axis\d*$/.test(name)).map((name) => figure.layout[name]);
        return axes.every((axis) => axis.range && (!axis.type || axis.type === "linear")) && figure.data.every((trace, place) => {
            const old = before.data[place];
            const filled = (points) => (points.x || []).length > 0;
            return ["scatter", "bar"].includes(trace.type) && filled(trace) === filled(old) &&
                [...(trace.x || []), ...(trace.y || [])].every((value) => typeof value !== "string") &&
                ["type", "mode", "name", "visible", "xaxis", "yaxis"].every((key) => trace[key] === old[key]) && alike(trace, old);
        });
    }
    function alike(value, other) {
        if (Array.isArray(value) || Array.isArray(other)) return Array.isArray(value) && Array.isArray(other);
        if (!value || !other || typeof value !== "object" || typeof other !== "object") return typeof value === typeof other && (value === null) === (other === null);
        const names = Object.keys(value);
        return names.length === Object.keys(other).length && names.every((name) => name in other && alike(value[name], other[name]));
    }

    // -- clicks

    // A callback: a click on a dot opens the drawer with what is behind it, or the dot's address, if the figure has one. A click on a
    // run's line pins it.
    callbacks.openDot = function (clicks) {
        const [triggered] = window.dash_clientside.callback_context.triggered || [];
        const point = triggered && triggered.value && triggered.value.points && triggered.value.points[0];
        if (!point || clueline.endsDrag(triggered.value)) return;
        const drawn = clueline.drawnFigure(JSON.parse(triggered.prop_id.replace(/\.clickData$/, "")).figure);
        const trace = drawn && drawn.data[point.curveNumber];
        const { items, link } = (trace && trace.meta) || {};
        const id = () => encodeURIComponent(point.customdata);
        const behind = Array.isArray(items) ? items[point.pointNumber] : items && items.replace("ID", id);
        if (behind) { clueline.openItems(behind); return; }
        if (typeof link === "string") { clueline.open(link.replace("ID", id)); return; }
        const run = trace && runOf(trace, point.pointNumber);
        if (run && pinOf(figureOf(clueline.plot(JSON.parse(triggered.prop_id.replace(/\.clickData$/, "")).figure)), run)) clueline.pin(run);
    };

    // -- grey runs come forward on hover and focus, and a click pins them

    const INK = "var(--ink)";
    const runOf = (trace, point) => {
        const meta = trace.meta || {};
        return typeof meta === "string" ? meta : Array.isArray(meta.runs) ? meta.runs[point] : meta.run;
    };
    const figureOf = (element) => element.closest("figure.figure");
    const pinOf = (figure, run) => figure && figure.querySelector(`[data-pin="${CSS.escape(run)}"]`);
    const forward = new WeakMap(); // plot: the run that was brought forward

    // Brings the line of a run forward; without a run, puts the last one back.
    function bring(plot, run) {
        if (!plot || !plot.data || (forward.get(plot) || null) === run) return;
        const entry = run && pinOf(figureOf(plot), run); // a figure without a legend has none
        forward.set(plot, run);
        const style = window.getComputedStyle(document.documentElement);
        const drawn = (clueline.drawnFigure(plot.closest("[data-figure]").dataset.figure) || {}).data || []; // Plotly changes its own copy
        const indices = [], colours = [], widths = [], opacities = [];
        plot.data.forEach((trace, index) => {
            const before = resolved(drawn[index] || {}, style);
            if (!before.line || typeof runOf(trace) !== "string" || !trace.line || !String(trace.mode).includes("lines")) return;
            const here = run === runOf(trace);
            indices.push(index);
            colours.push(here && entry ? resolved(entry.dataset.colour || INK, style) : before.line.color);
            widths.push(here ? 3.5 : before.line.width);
            opacities.push(run && !here ? 0.35 : before.opacity === undefined ? 1 : before.opacity);
        });
        if (indices.length) window.Plotly.restyle(plot, { "line.color": colours, "line.width": widths, opacity: opacities }, indices);
    }
    const plotIn = (element) => { const figure = figureOf(element); return figure && figure.querySelector(".js-plotly-plot"); };
    for (const [event, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
        document.addEventListener(event, (happened) => {
            const entry = happened.target.closest && happened.target.closest("[data-pin]");
            if (entry) bring(plotIn(entry), on ? entry.dataset.pin : null);
        });
    }
    callbacks.hoverRun = function (hovers) {
        for (const { prop_id } of window.dash_clientside.callback_context.triggered || []) {
            const name = JSON.parse(prop_id.replace(/\.hoverData$/, "")).figure;
            const plot = clueline.plot(name);
            const hover = hovers[(window.dash_clientside.callback_context.inputs_list[0] || []).findIndex((input) => input.id.figure === name)];
            const point = hover && hover.points && hover.points[0];
            const run = point && plot && plot.data[point.curveNumber] ? runOf(plot.data[point.curveNumber], point.pointNumber) : null;
            bring(plot, typeof run === "string" ? run : null);
        }
    };

    // Pins or unpins a run. Figures on every page show pinned runs in colour.
    clueline.pin = function (run) {
        const pins = new URLSearchParams(window.location.search).getAll("pin");
        clueline.setKeys({ pin: pins.includes(run) ? pins.filter((pin) => pin !== run) : [...pins, run] });
        clueline.redraw();
    };
    document.addEventListener("click", (event) => {
        const entry = event.target.closest("[data-pin]");
        if (entry) clueline.pin(entry.dataset.pin);
    });
    document.addEventListener("filled", (event) => {
        const pins = new URLSearchParams(window.location.search).getAll("pin");
        for (const entry of event.target.querySelectorAll("[data-pin]")) entry.setAttribute("aria-pressed", pins.includes(entry.dataset.pin));
    });

    document.addEventListener("click", (event) => {
        if (!event.target.closest("#theme-switch")) return;
        const root = document.documentElement;
        root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
        try { window.localStorage.setItem("clueline-theme", root.dataset.theme); } catch (e) { /* storage can be switched off */ }
        clueline.setKeys({ theme: root.dataset.theme });
        paintAll();
    });
})();
