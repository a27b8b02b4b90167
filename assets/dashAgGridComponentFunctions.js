// Cells of the list of questions.
(function () {
    "use strict";
    const components = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
    // A link within the app. Its contents are only ever text.
    components.QuestionLink = function (props) {
        if (!props.data) return "…";
        const { answer, question_id: id, href } = props.data;
        const words = React.createElement("span", { key: "words", className: "words" }, answer ? ` ${props.value}` : props.value || id);
        const title = [id, answer, props.value].filter(Boolean).join(" · ");
        return React.createElement("a", { href, "data-link": "", title }, answer ? React.createElement("b", { key: "answer" }, answer) : null, words);
    };
    // A number on a background that gets darker the better it is.
    components.Heat = function (props) {
        const good = props.data && props.data.heat ? props.data.heat[props.colDef.field] : undefined;
        return React.createElement("span", { className: "heat-cell", style: { "--good": good || 0 } }, props.value);
    };
    // The sparkline of a question: a line for each run, with a filled dot if its last guess is right, and people's steps.
    components.Spark = function (props) {
        const spark = props.value;
        if (!spark) return null;
        const line = (run, className) => React.createElement("path", {
            key: className + run.colour, className, d: run.path, fill: "none", style: { stroke: run.colour },
        });
        const dot = (run) => React.createElement("circle", {
            key: "dot" + run.colour, className: run.right ? "right" : "wrong", cx: run.x, cy: run.y, r: 2.5,
            style: { stroke: run.colour, fill: run.right ? run.colour : "var(--paper)" },
        });
        return React.createElement(
            "svg",
            { className: "spark", role: "img", "aria-label": spark.label, width: spark.width, height: spark.height },
            React.createElement("title", { key: "title" }, spark.label),
            spark.people ? line(spark.people, "people") : null,
            spark.runs.map((run) => line(run, "run")),
            spark.runs.map(dot),
        );
    };
})();
