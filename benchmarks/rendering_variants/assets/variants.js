// What the variant "fragments" adds to plain Dash: fragments of HTML are changed in their places, figures by their graphs.
(function () {
    "use strict";
    window.dash_clientside = window.dash_clientside || {};
    // The callbacks of Clueline's own pages are registered too, and do nothing here.
    window.dash_clientside.clueline = new Proxy({}, { get: () => () => window.dash_clientside.no_update });
    window.dash_clientside.variants = {
        place: function (drawn, placed) {
            if (!drawn) return window.dash_clientside.no_update;
            for (const [name, html] of Object.entries(drawn.fragments)) {
                if (placed && placed.fragments[name] === html) continue;
                window.Idiomorph.morph(document.getElementById("fragment-" + name), html, { morphStyle: "innerHTML" });
            }
            for (const [name, figure] of Object.entries(drawn.figures)) {
                const before = placed && placed.figures[name];
                if (before && JSON.stringify(before) === JSON.stringify(figure)) continue;
                window.dash_clientside.set_props("figure-" + name, { figure: figure });
            }
            return drawn;
        },
    };
})();
