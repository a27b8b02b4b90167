// Cells of the list of questions.
(function () {
    "use strict";
    const components = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
    // A link that stays in the app: text only, whatever stands in it.
    components.QuestionLink = function (props) {
        if (!props.data) return "…";
        return React.createElement("a", { href: props.data.href, "data-link": "", title: props.value }, props.value);
    };
    // The small figure of a question: a line for each run, its dot filled where the last guess is right, and people's steps.
    components.Spark = function (props) {
        const spark = props.value;
        if (!spark) return null;
        const line = (one, className) => React.createElement("path", {
            key: className + one.colour, className, d: one.path, fill: "none", style: { stroke: one.colour },
        });
        const dot = (one) => React.createElement("circle", {
            key: "dot" + one.colour, className: one.right ? "right" : "wrong", cx: one.x, cy: one.y, r: 2.5,
            style: { stroke: one.colour, fill: one.right ? one.colour : "var(--paper)" },
        });
        return React.createElement(
            "svg",
            { className: "spark", role: "img", "aria-label": spark.label, width: spark.width, height: spark.height },
            React.createElement("title", { key: "title" }, spark.label),
            spark.people ? line(spark.people, "people") : null,
            spark.runs.map((one) => line(one, "run")),
            spark.runs.map(dot),
        );
    };
})();
