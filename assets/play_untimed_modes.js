// The modes in which a clue or a question is answered without a time limit.
import {confidence, element, showClues, showForm} from "./play_elements.js";
import {graded, paragraph, percent, theAnswer} from "./play_result.js";

function list(kind, lines) {
    const made = document.createElement(kind);
    for (const line of lines) made.append(Object.assign(document.createElement("li"), {textContent: line}));
    return made;
}

export const everyClue = {
    about: "After each clue, say what you would answer, how sure you are that it is right, and whether you would buzz. "
        + "An empty answer is a pass.",
    buzzes: true,
    draw(state, game) {
        element("progress").textContent = `Clue ${state.clue + 1}`;
        showClues(state.clues);
        const keep = state.clue ? element("guess").value : "";
        showForm({guess: "Your answer", sure: "How sure are you that it is right?", buzz: true, keep}, () => game.answer({
            guess: element("guess").value, confidence: confidence(), buzz: element("buzz").checked,
        }));
    },
    told(last) { return [theAnswer(last), list("ol", last.answers.map(graded))]; },
};

function drawQuestion(state, fields, body, game) {
    showClues(state.clues);
    showForm(fields, () => game.answer({...body(), confidence: confidence()}));
}

export const estimate = {
    about: "Guess the age at which each person will die, and say how sure you are that you are near enough. "
        + "A life table shows at once how probable that is.",
    buzzes: false,
    draw(state, game) {
        const years = state.radius === 1 ? "1 year" : `${state.radius} years`;
        const fields = {guess: "Age in years", age: true, sure: `How sure are you that it is within ${years}?`};
        drawQuestion(state, fields, () => ({age: Number(element("guess").value)}), game);
    },
    told(last) {
        const [answer] = last.answers;
        return [paragraph(`According to the life table, ${answer.guess} is near enough with a probability of ${percent(answer.correct)}. `
            + `You were ${percent(answer.confidence)} sure.`)];
    },
};

export const vote = {
    about: "Choose what fits best, and say how sure you are that most people chose the same.",
    buzzes: false,
    draw(state, game) {
        const fields = {classes: state.classes, sure: "How sure are you that most people chose the same?"};
        const chosen = () => element("classes").querySelector("input:checked").value;
        drawQuestion(state, fields, () => ({choice: chosen()}), game);
    },
    told(last) {
        const [answer] = last.answers, people = last.votes.reduce((sum, [, votes]) => sum + votes, 0);
        return [
            paragraph(`Most people chose ${last.answer}. You chose ${answer.guess}, and were ${percent(answer.confidence)} sure.`),
            list("ul", last.votes.map(([name, votes]) => `${name}: ${votes} of ${people} people (${percent(votes / people)})`)),
        ];
    },
};
