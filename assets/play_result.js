// Models' answers and the player's own calibration, on the page on which people answer questions.
const SIZE = 220, EDGE = 30; // size of the diagram and of its margin, in SVG units
const METRICS = {accuracy_scored: "Right", mean_confidence: "Sure", brier: "Brier", calscore: "CalScore"};
const MEANING = {
    brier: "Sorted by the Brier score, the mean squared distance between how sure one is and being right (100 %) or wrong (0 %). "
        + "Lower is better.",
    calscore: "Sorted by CalScore. Being sure and right before people know the answer lowers it; being sure and wrong raises it. "
        + "Lower is better.",
};

function make(tag, text = "", className = "") {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) made.className = className;
    return made;
}

export function paragraph(text, className = "") { return make("p", text, className); }

export function percent(value) { return `${Math.round(100 * value)} %`; }

function named(model) { return model.elicitation ? `${model.model} (${model.elicitation})` : model.model; }

function right(guess) { return guess.correct > 0.5; }

// Returns the guess with which a model would have buzzed, if it would have.
function buzzed(model) { return model.buzz === null ? undefined : model.guesses.find((guess) => guess.clue === model.buzz); }

function sentence(model) {
    const guess = buzzed(model) ?? model.guesses.at(-1);
    if (!guess) return `${named(model)}: no answer`;
    const when = buzzed(model) ? `buzzes at clue ${guess.clue + 1}` : "does not buzz; at the end";
    return `${named(model)} ${when}: ${guess.guess || "no answer"}, ${percent(guess.confidence)} sure, `
        + (right(guess) ? "right" : "wrong");
}

function told(models) {
    const details = document.createElement("details"), list = document.createElement("ul");
    list.append(...models.map((text) => make("li", text)));
    details.append(make("summary", "Answers of each model"), list);
    return details;
}

// Shows models' answers to a finished question, and where they would have buzzed.
export function modelsOfQuestion({models}, last, {buzzes}) {
    if (!models.length) return [];
    const heading = make("h2", "Models' answers to the previous question");
    if (!buzzes) {
        const lines = models.filter((model) => model.guesses.length).map((model) => {
            const {guess, confidence} = model.guesses[0];
            return `${named(model)}: ${guess || "no answer"}, ${percent(confidence)} sure`;
        });
        return lines.length ? [heading, told(lines)] : [];
    }
    const hits = models.filter((model) => buzzed(model) && right(buzzed(model))).sort((one, other) => one.buzz - other.buzz);
    const own = last.answers.find((answer) => answer.buzz);
    let summary = hits.length
        ? `${hits.length} of ${models.length} models would have buzzed correctly, ${named(hits[0])} first, at clue ${hits[0].buzz + 1}.`
        : models.length === 1 ? `${named(models[0])} would not have buzzed correctly.`
            : `None of ${models.length} models would have buzzed correctly.`;
    summary += own ? ` You buzzed at clue ${own.clue + 1}, ${own.verdict === "accept" ? "right" : "not right"}.`
        : " You did not buzz.";
    return [heading, paragraph(summary), told(models.map(sentence))];
}

function shape(tag, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
}

// Accuracy against confidence: a dot per bin, whose area grows with the number of answers. The table next to it has the same numbers.
function diagram(bins, answers) {
    const at = (share) => EDGE + share * (SIZE - 2 * EDGE), up = (share) => SIZE - at(share);
    const svg = shape("svg", {viewBox: `0 0 ${SIZE} ${SIZE}`, class: "play-diagram", "aria-hidden": "true"});
    svg.append(
        shape("rect", {x: EDGE, y: EDGE, width: SIZE - 2 * EDGE, height: SIZE - 2 * EDGE, class: "frame"}),
        shape("line", {x1: at(0), y1: up(0), x2: at(1), y2: up(1), class: "diagonal"}),
        shape("text", {x: SIZE / 2, y: SIZE - 8, "text-anchor": "middle"}, "how sure you were"),
        shape("text", {x: -SIZE / 2, y: 16, transform: "rotate(-90)", "text-anchor": "middle"}, "how often right"),
    );
    for (const bin of bins) {
        if (!bin.answers) continue;
        const r = 3 + 12 * Math.sqrt(bin.answers / answers);
        svg.append(shape("circle", {cx: at(bin.mean_confidence), cy: up(bin.accuracy), r}));
    }
    return svg;
}

function table(head, rows, label) {
    const scroll = make("div", "", "scroll"), made = document.createElement("table");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", label);
    made.createTHead().insertRow().append(...head.map((text) => Object.assign(make("th", text), {scope: "col"})));
    const body = made.createTBody();
    for (const {cells: [first, ...others], own} of rows) {
        const row = body.insertRow();
        if (own) row.className = "own";
        row.append(Object.assign(make("th", first), {scope: "row"}), ...others.map((text) => make("td", text, "number")));
    }
    scroll.append(made);
    return scroll;
}

function shown(key, value) {
    if (value === null) return "–";
    return key === "accuracy_scored" || key === "mean_confidence" ? percent(value) : value.toFixed(3);
}

function verdict(standing) {
    const gap = standing.metrics.mean_confidence - standing.metrics.accuracy_scored;
    const text = `You were ${percent(standing.metrics.mean_confidence)} sure on average, and right in `
        + `${percent(standing.metrics.accuracy_scored)} of your answers`;
    if (Math.round(100 * Math.abs(gap)) === 0) return `${text}.`;
    return `${text}: you were ${gap > 0 ? "more" : "less"} sure than right, by ${Math.round(100 * Math.abs(gap))} percentage points.`;
}

// Shows the player's own calibration, and that of models on the same questions.
export function resultOfPlayer(result) {
    const own = result.standings.find((standing) => standing.run === null);
    const bins = result.bins.map((bin) => ({cells: [
        `${percent(bin.lower)} to ${percent(bin.upper)}`, String(bin.answers),
        bin.answers ? percent(bin.mean_confidence) : "–", bin.answers ? percent(bin.accuracy) : "–",
    ]}));
    const keys = Object.keys(METRICS).filter((key) => own.metrics[key] !== null);
    const standings = result.standings.map((standing) => ({
        cells: [standing.run === null ? "You" : named(standing), ...keys.map((key) => shown(key, standing.metrics[key]))],
        own: standing.run === null,
    }));
    const parts = [
        make("h2", "How sure you were, and how often right"), paragraph(verdict(own)), diagram(result.bins, result.answers),
        table(["You said", "Answers", "Sure", "Right"], bins, "Your answers by how sure you were"),
        paragraph("On the line, you are right as often as you are sure. Below it, you are too sure; above it, you are not sure enough. "
            + `A larger dot stands for more answers. With ${result.answers} answers, much of this is chance.`, "note"),
    ];
    if (result.standings.length > 1) {
        const place = result.standings.indexOf(own) + 1;
        parts.push(
            make("h2", "You and the models"),
            paragraph(`On the same questions, you rank ${place} of ${result.standings.length}.`),
            table(["Who", ...keys.map((key) => METRICS[key])], standings, "You and the models on the same questions"),
            paragraph(MEANING[result.order], "note"),
        );
    }
    return parts;
}

const VERDICTS = {accept: "right", prompt: "a moderator would ask for more", reject: "wrong"};

export function theAnswer(last) { return paragraph(`The answer was: ${last.answer.replace(/<[^>]*>/g, "")}`); }

export function graded(answer) {
    return `${answer.guess || "no answer"}, ${percent(answer.confidence)} sure: ${VERDICTS[answer.verdict]}`;
}
