// Figures come from the server with CSS variables for colours; here they are given the values that the theme has for them.
(function () {
    "use strict";
    const clueline = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};

    function resolved(value, style) {
        if (typeof value === "string") {
            const name = /^var\((--[a-z0-9-]+)\)$/.exec(value);
            return name ? style.getPropertyValue(name[1]).trim() : value;
        }
        if (Array.isArray(value)) return value.map((one) => resolved(one, style));
        if (value && typeof value === "object") {
            return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolved(one, style)]));
        }
        return value;
    }
    clueline.resolved = (value) => resolved(value, window.getComputedStyle(document.documentElement));
    clueline.paint = function (spec) {
        if (!spec) return [window.dash_clientside.no_update, window.dash_clientside.no_update];
        const figure = clueline.resolved(spec);
        const meta = figure.layout.meta || {};
        if (meta.panels) {
            const found = arranged(meta, document.getElementById("content").clientWidth);
            for (const [axis, domain] of Object.entries(found.domains)) figure.layout[axis].domain = domain;
            figure.layout.height = found.height;
        }
        return [figure, { height: figure.layout.height + "px" }];
    };

    // A press on a dot of a figure that has an address for them opens it, as a link would.
    clueline.opened = function (clicks) {
        const triggered = (window.dash_clientside.callback_context.triggered || [])[0];
        const point = triggered && triggered.value && triggered.value.points && triggered.value.points[0];
        if (!point) return;
        const name = JSON.parse(triggered.prop_id.replace(/\.clickData$/, "")).figure;
        const plot = [...document.querySelectorAll("#content .js-plotly-plot")].find((one) => ((one.layout || {}).meta || {}).figure === name);
        const trace = (plot && plot.data[point.curveNumber]) || {};
        const link = (trace.meta || {}).link;
        if (typeof link === "string") clueline.go(link.replace("ID", () => encodeURIComponent(point.customdata)));
    };

    // A figure as a file, named after it and the page.
    document.addEventListener("click", function (event) {
        const button = event.target.closest("[data-download]");
        if (!button) return;
        const plot = button.closest("figure").querySelector(".js-plotly-plot");
        const name = ["clueline", window.location.pathname.replace(/[^a-z0-9]+/gi, "-"), (plot.layout.meta || {}).figure].join("-");
        const box = plot.getBoundingClientRect();
        // On the page a legend stands above the figure; a file has its own.
        const legend = (plot.layout.meta || {}).legend ? { showlegend: true } : {};
        const drawn = { data: plot.data, layout: Object.assign({}, plot.layout, legend), config: { locale: "en" } };
        const room = legend.showlegend ? 24 * Math.ceil(plot.data.filter((trace) => trace.showlegend !== false).length / Math.max(1, Math.floor(box.width / 240))) : 0;
        window.Plotly.downloadImage(drawn, {
            format: button.dataset.download, filename: name.replace(/-+/g, "-"), width: box.width, height: box.height + room, scale: 2,
        });
    });

    // Plotly draws a figure again whenever it is told that it may have another size, even if it has the one it was drawn for.
    function spare(library) {
        const resize = library.Plots.resize;
        library.Plots.resize = function (plot) {
            const drawn = plot && plot._fullLayout;
            const fits = drawn && Math.abs(plot.clientWidth - drawn.width) < 1 && Math.abs(plot.clientHeight - drawn.height) < 1;
            return fits ? Promise.resolve() : resize.apply(this, arguments);
        };
        const react = library.react;
        library.react = function (plot, figure) {
            const layout = figure && figure.data ? JSON.stringify(figure.layout) : null;
            const stands = layout && plot.layoutDrawn === layout && holds(plot, figure.data);
            plot.layoutDrawn = layout;
            plot.figureAsked = figure;
            if (!stands) return react.apply(this, arguments);
            const change = { data: figure.data, traces: figure.data.map((trace, place) => place) };
            return library.animate(plot, change, AT_ONCE).then(() => plot, () => {
                // Another change came in between; if it was not a later one of ours, this one is still to be drawn.
                return plot.figureAsked === figure ? react.apply(this, arguments) : plot;
            });
        };
        return library;
    }
    // Moves dots and lines and leaves the rest: half the time or less where there are many panels.
    const AT_ONCE = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };

    // The axes of a figure stay where they are, and its traces are the same but for the numbers and texts in them.
    function holds(plot, data) {
        const drawn = plot._fullLayout;
        if (!drawn || !plot.data || plot.data.length !== data.length) return false;
        const axes = Object.keys(drawn).filter((name) => /^[xy]axis\d*$/.test(name)).map((name) => drawn[name]);
        return axes.every((axis) => axis.autorange === false && axis.type === "linear") && data.every((trace, place) => {
            const before = plot.data[place];
            const [filled, empty] = [(one) => one.x && one.x.length > 0, (one) => one.x && one.x.length === 0];
            return ["scatter", "bar"].includes(trace.type) && ([trace, before].every(filled) || [trace, before].every(empty)) &&
                ["type", "mode", "name", "visible", "xaxis", "yaxis"].every((name) => trace[name] === before[name]) && alike(trace, before);
        });
    }
    function alike(one, other) {
        if (Array.isArray(one) || Array.isArray(other)) return Array.isArray(one) && Array.isArray(other);
        if (!one || !other || typeof one !== "object" || typeof other !== "object") return typeof one === typeof other && (one === null) === (other === null);
        const names = Object.keys(one);
        return names.length === Object.keys(other).length && names.every((name) => name in other && alike(one[name], other[name]));
    }
    let plotly = window.Plotly && spare(window.Plotly);
    Object.defineProperty(window, "Plotly", { configurable: true, get: () => plotly, set: (library) => { plotly = library && spare(library); } });

    // Small multiples: where each panel's axes lie, for the columns that fit into so many pixels.
    const GAP = { x: 44, y: 54 };
    function arranged(meta, width) {
        const inside = Math.max(width - 28 - 44, 200);
        const most = Math.max(1, Math.min(meta.panels, Math.floor((inside + GAP.x) / (meta.width + GAP.x))));
        const rows = Math.ceil(meta.panels / most);
        const columns = Math.ceil(meta.panels / rows); // rows as even as can be
        const wide = (inside - GAP.x * (columns - 1)) / columns;
        const across = Math.min(wide, 1.35 * meta.width);
        const down = rows * meta.height + (rows - 1) * GAP.y;
        const domains = {};
        for (let panel = 0; panel < meta.panels; panel++) {
            const name = panel === 0 ? "" : String(panel + 1);
            const left = (panel % columns) * (across + GAP.x);
            const top = Math.floor(panel / columns) * (meta.height + GAP.y);
            domains["xaxis" + name] = [left / inside, Math.min((left + across) / inside, 1)];
            domains["yaxis" + name] = [Math.max(1 - (top + meta.height) / down, 0), 1 - top / down];
        }
        return { domains: domains, height: down + 52 };
    }
    let resizing;
    window.addEventListener("resize", function () {
        window.clearTimeout(resizing);
        resizing = window.setTimeout(function () {
            for (const plot of document.querySelectorAll("#content .js-plotly-plot")) {
                const meta = (plot.layout || {}).meta || {};
                if (!meta.panels) continue;
                const found = arranged(meta, document.getElementById("content").clientWidth);
                const changes = Object.fromEntries(Object.entries(found.domains).map(([axis, domain]) => [axis + ".domain", domain]));
                window.dash_clientside.set_props({ role: "figure", figure: meta.figure }, { style: { height: found.height + "px" } });
                window.Plotly.relayout(plot, Object.assign(changes, { height: found.height }));
            }
        }, 150);
    });

    clueline.theme = function (clicks, current) {
        const root = document.documentElement;
        if (!clicks) return root.dataset.theme;
        const theme = root.dataset.theme === "dark" ? "light" : "dark";
        root.dataset.theme = theme;
        try { window.localStorage.setItem("clueline-theme", theme); } catch (e) { /* storage may be switched off */ }
        clueline.set({ theme: theme });
        return theme;
    };
})();
