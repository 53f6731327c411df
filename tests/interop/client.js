/*
 * Node's own clients against one tree: node client.js http2|http URL FOLDER NAME…
 * Fetches each file many times at once, in parts, conditionally and compressed, and uploads it; prints how many
 * requests.
 */
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const http2 = require("node:http2");
const path = require("node:path");
const zlib = require("node:zlib");

const [protocol, base, folder, ...names] = process.argv.slice(2);
const url = new URL(base);
const insecure = { rejectUnauthorized: false };
let asked = 0;

function collect(stream, resolve, reject, head) {
	const chunks = [];
	stream.on("data", c => chunks.push(c));
	stream.on("error", reject);
	stream.on("end", () => resolve({ ...head(), body: Buffer.concat(chunks) }));
}

function overHttp2() {
	const session = http2.connect(base, insecure);
	session.on("error", e => { throw e; });
	return {
		request: (method, target, headers = {}, body) => new Promise((resolve, reject) => {
			const stream = session.request({ ":method": method, ":path": target, ...headers },
				{ endStream: body === undefined });
			let fields;
			stream.on("response", f => { fields = f; });
			collect(stream, resolve, reject, () => ({ status: fields[":status"], fields }));
			if (body !== undefined)
				stream.end(body);
		}),
		close: () => new Promise(resolve => session.close(resolve)),
	};
}

function overHttp1() {
	const http = require(url.protocol === "https:" ? "node:https" : "node:http");
	const agent = new http.Agent({ keepAlive: true, maxSockets: 4, ...insecure });
	return {
		request: (method, target, headers = {}, body) => new Promise((resolve, reject) => {
			const request = http.request(new URL(target, base), { method, headers, agent }, answer => {
				assert.strictEqual(answer.httpVersion, "1.1");
				collect(answer, resolve, reject,
					() => ({ status: answer.statusCode, fields: answer.headers }));
			});
			request.on("error", reject);
			request.end(body);
		}),
		close: async () => agent.destroy(),
	};
}

/* By PUT and by a form, as Node itself writes one; and reads them back. */
async function upload(ask, name, content) {
	const target = `/files/node%20${protocol}%20${encodeURIComponent(name)}`;
	const put = await ask("PUT", target, {}, content);
	assert([201, 204].includes(put.status), `${put.status}`);
	const back = await ask("GET", target);
	assert(back.body.equals(content), name);
	if (put.fields.etag !== undefined) // of a long file there is none
		assert.strictEqual(back.fields.etag, put.fields.etag);

	const form = new FormData();
	form.append("word", "value");
	form.append("file", new Blob([content]), `form "${protocol}" ${name} ü`);
	const encoded = new Response(form);
	const posted = await ask("POST", "/files", { "content-type": encoded.headers.get("content-type") },
		Buffer.from(await encoded.arrayBuffer()));
	assert.strictEqual(posted.status, 201);
	assert((await ask("GET", posted.fields.location)).body.equals(content), name);
}

async function main() {
	const client = protocol === "http2" ? overHttp2() : overHttp1();
	const ask = (...args) => { asked++; return client.request(...args); };
	for (const name of names) {
		const target = "/" + name, content = fs.readFileSync(path.join(folder, name));
		const whole = await Promise.all(Array.from({ length: 40 }, () => ask("GET", target)));
		for (const answer of whole) {
			assert.strictEqual(answer.status, 200);
			assert(answer.body.equals(content), name);
		}
		await upload(ask, path.basename(name), content);
		const head = await ask("HEAD", target);
		const { etag } = head.fields;
		assert.strictEqual(Number(head.fields["content-length"]), content.length);
		assert.strictEqual(etag.replace("W/", ""), whole[0].fields.etag.replace("W/", ""));
		assert.strictEqual((await ask("GET", target, { "if-none-match": etag })).status, 304);
		// A long file's tag is weak for two seconds behind its change, and no condition of a range.
		if (content.length === 0 || etag.startsWith("W/"))
			continue;
		const part = await ask("GET", target, { range: "bytes=-10", "if-range": etag });
		assert.strictEqual(part.status, 206);
		assert(part.body.equals(content.subarray(-10)), name);
	}
	for (const [coding, unpack] of [["br", zlib.brotliDecompressSync], ["gzip", zlib.gunzipSync]]) {
		let packed;
		do /* Where the keeper is late for a moment the disk answers, without a coding. */
			packed = await ask("GET", "/text.html", { "accept-encoding": coding });
		while (packed.fields["content-encoding"] === undefined);
		assert.strictEqual(packed.fields["content-encoding"], coding);
		assert(unpack(packed.body).equals(fs.readFileSync(path.join(folder, "text.html"))));
	}
	assert.strictEqual((await ask("POST", "/small", {}, Buffer.alloc(500000))).status, 405);
	assert.strictEqual((await ask("GET", "/none")).status, 404);
	await client.close();
	console.log(asked);
}

main().catch(e => { console.error(e); process.exit(1); });
