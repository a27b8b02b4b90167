// Puts what the server has drawn in its place. Where nothing around a page's parts (dashboard/components/parts.py) is other than what is
// shown, the parts that differ change where they stand; else the page is built again. It is decided here, for what is shown when an
// answer comes is not always what was shown when it was asked for.
(function () {
    "use strict";
    const clueline = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const key = (id) => (typeof id === "string" ? id : JSON.stringify(id, Object.keys(id).sort()));
    const pairs = (query, without) => JSON.stringify([...new URLSearchParams(query)].filter(([key]) => !without.includes(key)).sort());

    // What stands around the parts is the same, or nothing was changed but keys that leave a page standing.
    function stands(after, before, live) {
        if (!after || !before || String(Object.keys(after.parts)) !== String(Object.keys(before.parts))) return false;
        const around = after.parts[""];
        if (around && around === before.parts[""]) return true;
        return live.length > 0 && pairs(after.query, live) === pairs(before.query, live);
    }

    // Properties of every component with an id, by it.
    function named(content, found) {
        for (const one of Array.isArray(content) ? content : [content]) {
            if (!one || !one.props) continue;
            if (one.props.id) found.set(key(one.props.id), one.props);
            named(one.props.children, found);
        }
        return found;
    }

    clueline.place = function (answer, before, view) {
        const leave = window.dash_clientside.no_update;
        const places = window.dash_clientside.callback_context.outputs_list.slice(3);
        const all = (what) => places.map((ids) => ids.map(what));
        if (!answer) return [leave, leave, leave, ...all(() => leave)];
        const { content, shown: after } = JSON.parse(answer);
        if (!stands(after, before, view.live)) return [content, after, leave, ...all(() => leave)];
        const drawn = named(content, new Map());
        const changed = ({ id }) => (after.parts[key(id)] === before.parts[key(id)] ? leave : drawn.get(key(id)).data);
        return [leave, after, drawn.get("plain").data, ...all(changed)];
    };
})();
