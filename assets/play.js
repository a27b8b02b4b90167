// The page on which people answer questions. The server decides what is shown: this script sends answers and draws states.
import {modelsOfQuestion, paragraph, percent, resultOfPlayer} from "./play_result.js";

{
    const element = (name) => document.getElementById(`play-${name}`);
    const session = location.hash.slice(1);
    const key = `clueline-play-${session}`;
    let player = localStorage.getItem(key);
    let step = 0, shownAt = 0, roundTrip = null, sending = false;

    if (!player) {
        player = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
        localStorage.setItem(key, player);
    }

    function show(name, visible) { element(name).hidden = !visible; }

    function report(message) {
        element("problem").textContent = message;
        show("problem", Boolean(message));
    }

    async function post(address, body) {
        const began = performance.now();
        let response;
        try {
            response = await fetch(address, {
                method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({session, player, ...body}),
            });
        } catch {
            throw new Error("The server cannot be reached. Nothing is lost: try again.");
        }
        if (address === "/api/v1/play/answers") roundTrip = performance.now() - began;
        const answer = await response.json().catch(() => null);
        if (!response.ok) throw new Error(answer?.error?.message ?? "Something went wrong. Try again.");
        return answer;
    }

    // Draw what comes of an address, unless the player has gone on meanwhile. A failure leaves a button to try again.
    async function fill(name, address, drawing) {
        const asked = step;
        show(name, true);
        element(name).replaceChildren(paragraph("Comparing with models …", "note"));
        try {
            const parts = drawing(await post(address, {}));
            if (step === asked) element(name).replaceChildren(...parts);
            if (step === asked && !parts.length) show(name, false);
        } catch (error) {
            const again = document.createElement("button");
            again.className = "quiet";
            again.type = "button";
            again.textContent = "Try again";
            again.addEventListener("click", () => fill(name, address, drawing));
            if (step === asked) element(name).replaceChildren(paragraph(`Models cannot be shown now. ${error.message}`, "note"), again);
        }
    }

    function drawLast(last, calibration) {
        const words = {accept: "right", prompt: "a moderator would ask for more", reject: "wrong"};
        const list = document.createElement("ol");
        for (const answer of last.answers) {
            const item = document.createElement("li");
            item.textContent = `${answer.guess || "no answer"}, ${percent(answer.confidence)} sure: ${words[answer.verdict]}`;
            list.append(item);
        }
        element("last").replaceChildren(
            paragraph(`The answer was: ${last.answer.replace(/<[^>]*>/g, "")}`), list,
            paragraph(`So far you were ${percent(calibration.confidence)} sure on average, and right at `
                + `${percent(calibration.accuracy)} of ${calibration.answers} clues.`, "note"),
        );
    }

    function draw(state) {
        report("");
        element("consent-text").textContent = state.consent;
        show("consent", !state.joined);
        show("foot", state.joined);
        show("form", state.joined && !state.done);
        show("last", Boolean(state.last));
        step = state.step;
        for (const name of ["models", "result"]) show(name, false);
        if (state.last) {
            drawLast(state.last, state.calibration);
            fill("models", "/api/v1/play/models", (answer) => modelsOfQuestion(answer, state.last));
        }
        if (state.done) {
            fill("result", "/api/v1/play/result", resultOfPlayer);
            element("title").textContent = "Done. Thank you!";
            element("title").tabIndex = -1;
            element("title").focus();
        } else if (state.joined) {
            element("title").textContent = `Question ${state.question + 1} of ${state.questions}`;
            element("progress").textContent = `Clue ${state.clue + 1}`;
            element("clues").textContent = state.clues.join(" ");
            if (state.clue === 0) element("guess").value = "";
            element("confidence").value = "";
            element("buzz").checked = false;
            element("guess").focus();
            shownAt = performance.now();
        } else {
            element("start").focus();
        }
    }

    async function change(address, body) {
        if (sending) return;
        sending = true;
        try {
            draw(await post(address, body));
        } catch (error) {
            report(error.message);
        } finally {
            sending = false;
        }
    }

    element("start").addEventListener("click", () => change("/api/v1/play", {agreed: true}));
    element("form").addEventListener("submit", (event) => {
        event.preventDefault();
        change("/api/v1/play/answers", {
            step, guess: element("guess").value, confidence: Number(element("confidence").value), buzz: element("buzz").checked,
            shown_ms: performance.now() - shownAt, round_trip_ms: roundTrip, clock_ms: Date.now(),
        });
    });
    element("erase").addEventListener("click", async () => {
        if (!confirm("Erase all your answers in this session?")) return;
        try {
            await post("/api/v1/play/erase", {});
            draw(await post("/api/v1/play", {}));
            element("title").textContent = "Your answers are erased";
        } catch (error) {
            report(error.message);
        }
    });
    addEventListener("hashchange", () => location.reload());
    if (session) change("/api/v1/play", {});
    else report("This address is not complete: open the link that you were sent.");
}
