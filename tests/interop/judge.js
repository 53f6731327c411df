/* Waits until the page has loaded and says what is wrong with it; see page.py. */
"use strict";

const failures = [];
addEventListener("error", e => failures.push(`error: ${e.message || e.target.src || e.target.href}`), true);
addEventListener("unhandledrejection", e => failures.push(`rejected: ${e.reason}`));

function check(right, text) {
	if (!right)
		failures.push(text);
}

async function same(a, b, text) {
	const [x, y] = [new Uint8Array(a), new Uint8Array(b)];
	check(x.length === y.length && x.every((v, i) => v === y[i]), text);
}

async function ranges() {
	const whole = await (await fetch("sound.wav", { cache: "no-store" })).arrayBuffer();
	for (const [range, first, last] of [["bytes=0-99", 0, 100], ["bytes=1000-", 1000, whole.byteLength],
			["bytes=-50", whole.byteLength - 50, whole.byteLength]]) {
		const part = await fetch("sound.wav", { cache: "no-store", headers: { range } });
		check(part.status === 206, `${range}: ${part.status}`);
		await same(await part.arrayBuffer(), whole.slice(first, last), `${range}: other bytes`);
	}
}

async function sound() {
	const audio = document.getElementById("sound");
	while (audio.readyState < 1 && !audio.error)
		await new Promise(r => ["loadedmetadata", "error"].forEach(
			name => audio.addEventListener(name, r, { once: true })));
	check(Math.round(audio.duration) === 60, `sound: ${audio.duration} s`);
	const sought = new Promise(r => audio.addEventListener("seeked", r, { once: true }));
	audio.currentTime = 50;
	await sought;
	audio.removeAttribute("src");
	audio.load();
}

async function documents() {
	await Promise.all([...Array(plan.documents).keys()].map(async i => {
		const answer = await fetch(`data/${i}.json`);
		check(answer.headers.get("content-type") === "application/json", `data/${i}.json: type`);
		const data = await answer.json();
		check(data.n === i && data.list.length === i * 300, `data/${i}.json: content`);
	}));
}

/* The browser asks whether what it has is still right, and gets 304: nothing but a head is transferred. */
async function revalidation() {
	performance.clearResourceTimings();
	await (await fetch("data/9.json", { cache: "no-cache" })).json();
	const [entry] = performance.getEntriesByName(new URL("data/9.json", location).href);
	check(entry.decodedBodySize > 10000 && entry.transferSize < 1000,
		`revalidation transfers ${entry.transferSize} of ${entry.decodedBodySize}`);
}

async function refused() {
	const missing = await fetch("index.html", { method: "PUT", body: "x".repeat(300000) });
	check(missing.status === 405, `PUT: ${missing.status}`);
}

async function judge() {
	if (document.readyState !== "complete")
		await new Promise(r => addEventListener("load", r, { once: true }));
	const style = getComputedStyle(document.documentElement);
	for (let i = 0; i < plan.styles; i++)
		check(style.getPropertyValue(`--s${i}`) === "ok", `css/${i}.css`);
	check(String(window.ran) === String([...Array(plan.scripts).keys()]), `scripts ran: ${window.ran}`);
	check(Object.keys(window.m).length === plan.modules, `modules: ${Object.keys(window.m)}`);
	for (const image of document.images)
		check(image.complete && image.naturalWidth === Number(image.dataset.width), image.src);
	for (let i = 0; i < plan.families; i++)
		check((await document.fonts.load(`16px f${i}`)).length === 1, `font f${i}`);
	await documents();
	await sound();
	await ranges();
	const resources = performance.getEntriesByType("resource").map(e => ({
		path: new URL(e.name).pathname, protocol: e.nextHopProtocol, status: e.responseStatus,
		encoded: e.encodedBodySize, decoded: e.decodedBodySize }));
	await revalidation();
	/* Chromium writes an error into its console for every 4xx: asked for only when the test says so. */
	if (location.hash === "#refused")
		await refused();
	return { failures, resources };
}
