// The list of questions: the grid requests rows as they come into view, and its headings write the order into the address.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};

    // The order that has a column of its own on the page, without its sign. The grid itself sorts by its other columns.
    const ownOrder = () => ((document.querySelector("[data-own]") || {}).dataset || {}).own;
    const orderKey = (sort) => (sort || "").replace(/^-/, "");
    clueline.hasOwnColumn = (sort) => orderKey(sort) === ownOrder();

    // The grid has sorted itself, and the address follows. If the order with a column of its own was left or reversed, the page is
    // redrawn with the menu and the columns of the new order.
    function sorted(after) {
        const before = new URLSearchParams(window.location.search).get("sort") || "";
        if (before === after) return;
        clueline.setKeys({ sort: after });
        const own = ownOrder();
        if (!own || ![before, after].some((sort) => orderKey(sort) === own)) return;
        const menu = { role: "control", key: "sort", kind: "order", run: "", scale: "", default: "" };
        window.dash_clientside.set_props(menu, { value: orderKey(after) === own ? after : "" });
        clueline.redraw();
    }

    // The grid's source of rows. Each request gets its own response, even if others are sent in the meantime.
    function source(address) {
        return {
            getRows: function (request) {
                const [first] = request.sortModel || [];
                const sort = first ? (first.sort === "desc" ? "-" : "") + first.colId : "";
                sorted(sort);
                const [path, query] = address.split("?");
                const keys = new URLSearchParams(query);
                keys.append("start", request.startRow);
                keys.append("count", request.endRow - request.startRow);
                if (sort) keys.append("sort", sort);
                ask();
                // A server that is too busy says when to come again.
                function ask() {
                    window.fetch(path + "?" + keys)
                        .then((answer) => {
                            const seconds = Number(answer.headers.get("Retry-After"));
                            if (seconds) window.setTimeout(ask, 1000 * seconds * (1 + Math.random()));
                            else if (!answer.ok) request.failCallback();
                            else return answer.json().then(({ rows, total }) => request.successCallback(rows, total));
                        })
                        .catch(() => request.failCallback());
                }
            },
        };
    }

    const addresses = new WeakMap(); // a grid's API -> the address of its rows
    let wanted = null;
    function ready() {
        try {
            const api = window.dash_ag_grid.getApi("grid");
            return api && !api.isDestroyed() && api.getGridOption("datasource") ? api : null; // Dash gives it one first
        } catch (e) {
            return null; // there is no grid yet, which is reported as an error
        }
    }
    function provide(tries) {
        const api = ready();
        if (!wanted || (!api && !tries)) return;
        if (!api) { window.requestAnimationFrame(() => provide(tries - 1)); return; }
        if (addresses.get(api) !== wanted) api.setGridOption("datasource", source(wanted));
        addresses.set(api, wanted);
        wanted = null;
    }

    // A callback: the selection has changed, or the grid is new. The grid is ready by the next frame or some frames later.
    callbacks.fillGrid = function (state) {
        if (!state) return window.dash_clientside.no_update;
        wanted = state.address;
        window.requestAnimationFrame(() => provide(1200));
        return { height: Math.min(state.rows, 20) * 30 + 100 + "px", maxHeight: "75vh" };
    };
})();
