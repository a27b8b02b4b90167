// Numbers as pages write them. dashboard/components/numbers.py does the same on the server; a test compares both.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const DASH = "–";
    const MINUS = "\u2212";

    // Python rounds halves to even; toFixed would round them up.
    const formats = new Map();
    function fixed(value, digits) {
        if (!formats.has(digits)) {
            formats.set(digits, new Intl.NumberFormat("en", {
                minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven", useGrouping: false,
            }));
        }
        return formats.get(digits).format(value);
    }

    // A number with a fixed count of decimals and a true minus sign; a dash where there is none.
    clueline.short = function (value, digits = 3) {
        if (value === null || value === undefined) return DASH;
        const text = fixed(value, digits);
        return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", MINUS);
    };

    // A share in percent; a dash where there is none.
    clueline.percent = function (value) {
        return value === null || value === undefined ? DASH : `${clueline.short(100 * value, 1)} %`;
    };

    // A whole number with separators for thousands.
    clueline.whole = (value) => Number(value).toLocaleString("en");

    // A count with its noun.
    clueline.count = (value, noun, plural) => `${clueline.whole(value)} ${value === 1 ? noun : plural || noun + "s"}`;
})();
