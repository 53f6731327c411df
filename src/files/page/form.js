// form.js: sends the files of a listing's form as resumable uploads (docs/guide/upload-form.md), two at once, in pieces.
// What is cut goes on by itself, and after the page was closed when the same file is chosen again: the address of its
// upload is remembered. A server that offers no resumption gets each file in a form of its own.
'use strict';
(() => {
	const AT_ONCE = 2, SHOWN = 50, LEAST = 256 << 10, MIB = 1 << 20, MEMORY = 'h2d upload ';
	// The server is busy or being replaced, or has another offset.
	const AGAIN = [0, 408, 409, 425, 429, 500, 502, 503, 504];
	const WORDS = {
		401: 'a password is needed', 403: 'you may not upload here', 409: 'a file of this name exists and must not be replaced',
		413: 'the file is larger than the server takes', 507: 'the server has no room for it',
	};
	const form = document.forms[0], input = form.elements.file, said = form.querySelector('p');
	const list = form.querySelector('ul'), base = form.action.replace(/\/?$/, '/');
	const urlOf = path => base + path.split('/').map(encodeURIComponent).join('/');
	let uploads = []; // those that are not stored: { file, path, url, at, sent, live, state, … }
	let busy = false, piece = MIB, most = 8 * MIB, maxSize = Infinity, maxAge = 0, resumes = false;
	let stored = 0, bytesStored = 0, leftOut = 0, clock;

	const parse = text => new DOMParser().parseFromString(text, 'text/html');
	const some = (...states) => uploads.filter(u => states.includes(u.state));
	const count = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');
	const timeText = s => s < 90 ? Math.ceil(s) + ' s' : s < 5400 ? Math.round(s / 60) + ' min' : (s / 3600).toFixed(1) + ' h';
	const sizeText = n => {
		const at = n < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(n) / 10));
		return at ? (n / 1024 ** at).toFixed(1) + ' ' + ' KMGT'[at] + 'iB' : Math.round(n) + ' B';
	};

	const make = (tag, properties = {}, ...children) => {
		const element = Object.assign(document.createElement(tag), properties);
		element.append(...children);
		return element;
	};
	const named = (tag, name, properties) => make(tag, {ariaLabel: name, ...properties});
	const button = (text, name, onclick) => named('button', text + ' ' + name, {type: 'button', textContent: text, onclick});

	// --- SHA-256 (FIPS 180-4): crypto.subtle takes no stream, and is missing without TLS ---

	const primes = [];
	for (let n = 2; primes.length < 64; n++)
		if (primes.every(p => n % p))
			primes.push(n);
	const fraction = x => x % 1 * 2 ** 32 | 0, K = Int32Array.from(primes, p => fraction(Math.cbrt(p)));
	const turn = (x, n) => x >>> n | x << 32 - n;

	// Adds whole blocks of 64 bytes to the state s.
	const addBlocks = (s, bytes) => {
		const view = new DataView(bytes.buffer, bytes.byteOffset), w = new Int32Array(64);
		for (let at = 0; at < bytes.length; at += 64) {
			for (let i = 0; i < 16; i++)
				w[i] = view.getInt32(at + 4 * i);
			for (let i = 16; i < 64; i++) {
				const x = w[i - 15], y = w[i - 2];
				w[i] = w[i - 16] + w[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ x >>> 3) + (turn(y, 17) ^ turn(y, 19) ^ y >>> 10);
			}
			let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
			for (let i = 0; i < 64; i++) {
				const t = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + K[i] + w[i] | 0;
				const u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c) | 0;
				h = g, g = f, f = e, e = d + t | 0, d = c, c = b, b = a, a = t + u | 0;
			}
			s[0] += a, s[1] += b, s[2] += c, s[3] += d, s[4] += e, s[5] += f, s[6] += g, s[7] += h;
		}
	};

	// The repr-digest of the file; in slices, because a worker would need a weaker policy of the page.
	const digest = async (file, wanted) => {
		const s = Int32Array.from(primes.slice(0, 8), p => fraction(Math.sqrt(p)));
		let bytes = new Uint8Array();
		for (let at = 0; at < file.size && wanted(); at += MIB) {
			bytes = new Uint8Array(await file.slice(at, at + MIB).arrayBuffer());
			addBlocks(s, bytes.subarray(0, bytes.length & ~63));
		}
		const rest = bytes.subarray(bytes.length & ~63), end = new Uint8Array(rest.length < 56 ? 64 : 128);
		const view = new DataView(end.buffer);
		end.set(rest);
		end[rest.length] = 128;
		view.setBigUint64(end.length - 8, BigInt(file.size) * 8n);
		addBlocks(s, end);
		s.forEach((word, i) => view.setInt32(4 * i, word));
		return 'sha-256=:' + btoa(String.fromCharCode(...end.subarray(0, 32))) + ':';
	};

	// --- what is remembered: the address of each unfinished upload, by its file ---

	// Storage may be switched off, or full.
	const memory = act => {
		try {
			return act(localStorage);
		} catch {
			return null;
		}
	};
	const keyOf = u => MEMORY + [u.url, u.file.size, u.file.lastModified].join(' ');
	const remembered = key => memory(all => JSON.parse(all.getItem(key)));
	const remember = u => memory(all => all.setItem(keyOf(u),
		JSON.stringify({at: u.at, path: u.path, size: u.file.size, sent: u.sent, until: Date.now() + maxAge * 1000})));
	const recall = u => {
		const {at = null, sent = 0} = u.resumes && remembered(keyOf(u)) || {};
		return Object.assign(u, {at, sent});
	};
	const forget = u => {
		memory(all => all.removeItem(keyOf(u)));
		recall(u);
	};
	const drop = at => fetch(at, {method: 'DELETE', keepalive: true}).catch(() => {}); // or it expires

	const showRemembered = () => {
		for (const key of memory(all => Object.keys(all).filter(key => key.startsWith(MEMORY + base))) || []) {
			const {at, path, size, sent, until} = remembered(key) || {};
			if (path && !key.startsWith(MEMORY + urlOf(path) + ' '))
				continue; // of a directory below
			const text = sizeText(sent) + ' of ' + sizeText(size) + ' are stored: choose the file again to go on';
			const item = make('li', {}, make('bdi', {textContent: path}), make('span', {textContent: text}));
			const end = () => {
				memory(all => all.removeItem(key));
				leave(item);
			};
			item.dataset.key = key;
			item.append(make('div', {}, button('Forget', path, () => drop(at).then(end))));
			list.append(item);
			if (!(until > Date.now()))
				end();
		}
	};

	// --- what is shown ---

	const total = {bar: named('progress', 'All files'), text: make('span'), buttons: make('div'), meter: {}};
	const totals = make('div', {className: 'all', hidden: true}, total.text, total.buttons, total.bar);
	said.after(totals);

	// Removes it, and keeps the keyboard near.
	const leave = item => {
		const next = item.nextElementSibling || item.previousElementSibling;
		const focused = item.contains(document.activeElement);
		item.remove();
		if (focused)
			(next && next.querySelector('button') || input).focus();
	};

	const ACTS = {waits: ['Cancel'], sends: ['Pause', 'Cancel'], paused: ['Go on', 'Cancel'], failed: ['Retry', 'Remove']};

	const show = (u, text) => {
		u.text.textContent = text;
		if (u.shown === u.state)
			return;
		const focused = u.buttons.contains(document.activeElement);
		u.buttons.replaceChildren(...ACTS[u.state].map(name => button(name, u.path, () => press(name, [u]))));
		if (focused)
			u.buttons.firstChild.focus();
		u.shown = u.state;
		u.bar.hidden = u.state === 'failed';
		u.item.className = u.bar.hidden ? 'bad' : '';
	};

	// "43 % · 3.1 MiB/s · 2 min left", by the rate of the last seconds.
	const progress = (shown, bytes, size, now) => {
		const m = shown.meter, rate = Math.max(0, bytes - m.bytes) / (now - m.time) * 1000;
		shown.bar.value = size ? bytes / size : 0;
		if (rate >= 0)
			m.rate = m.rate === undefined ? rate : 0.8 * m.rate + 0.2 * rate;
		m.time = now;
		m.bytes = bytes;
		return Math.floor(100 * shown.bar.value) + ' %' + (m.rate > 0 && busy ?
			' · ' + sizeText(m.rate) + '/s · ' + timeText((size - bytes) / m.rate) + ' left' : '');
	};

	const tick = () => {
		const now = performance.now(), open = some('waits', 'sends', 'paused'), paused = some('paused').length;
		const sum = of => open.reduce((n, u) => n + of(u), bytesStored);
		for (const u of some('sends')) {
			const text = progress(u, u.sent + u.live, u.file.size, now);
			show(u, u.note || text);
		}
		totals.hidden = open.length === 0;
		total.text.textContent = count(open.length, 'file') + ' to go: ' +
			progress(total, sum(u => u.sent + u.live), sum(u => u.file.size), now);
		total.buttons.children[0].hidden = paused === open.length;
		total.buttons.children[1].hidden = paused === 0;
	};

	const fail = (u, text) => {
		u.state = 'failed';
		show(u, text);
		list.append(...u.item.parentNode ? [] : [u.item]);
		said.textContent = u.path + ': ' + text;
	};

	// --- one file ---

	const ask = (u, method, url, fields = {}, body = null) => new Promise(done => {
		const request = u.request = new XMLHttpRequest();
		let timer;
		// A browser waits a quarter of an hour for a connection that died without a word.
		const within = s => {
			clearTimeout(timer);
			timer = setTimeout(() => request.abort(), 1000 * s);
		};
		request.open(method, url);
		for (const name in fields)
			request.setRequestHeader(name, fields[name]);
		request.upload.onprogress = e => {
			u.live = Math.min(e.loaded, u.file.size - u.sent);
			within(20);
		};
		request.upload.onload = () => within(60 + u.file.size / (20 * MIB)); // the server reads all of it for the digest
		request.onloadend = () => {
			clearTimeout(timer);
			u.live = 0;
			done(request);
		};
		within(60);
		request.send(body);
	});

	const resize = n => piece = Math.floor(Math.min(most, Math.max(LEAST, n)));

	const begin = u => {
		// A digest of more would take a server longer than proxies wait for the answer.
		const fields = {'upload-complete': '?1', ...u.file.size < 1024 * MIB && {'want-repr-digest': 'sha-256=1'}};
		const data = new FormData();
		u.whole = !u.resumes || u.file.size <= piece;
		if (u.resumes && u.whole)
			return ask(u, 'POST', u.url, fields, u.file);
		if (u.resumes)
			return ask(u, 'POST', u.url, {...fields, 'upload-complete': '?0', 'upload-length': u.file.size});
		data.append('file', u.file);
		return ask(u, 'POST', form.action, {accept: 'application/json'}, data);
	};

	// A piece is what a second carries: a proxy that keeps pieces until they are whole loses no more by a cut.
	const append = async u => {
		const end = Math.min(u.sent + piece, u.file.size), since = performance.now();
		const request = await ask(u, 'PATCH', u.at, {'content-type': 'application/partial-upload', 'upload-offset': u.sent,
			'upload-complete': end === u.file.size ? '?1' : '?0'}, u.file.slice(u.sent, end));
		if (request.status < 300)
			resize(request.status ? Math.min(2 * piece, (end - u.sent) / (performance.now() - since) * 1000) : piece / 2);
		return request;
	};

	const why = request => {
		const page = parse(request.responseText);
		const told = [...page.querySelectorAll('.why')].find(e => !e.textContent.startsWith('Request '));
		return told ? told.textContent : WORDS[request.status] || (page.querySelector('h1') || page.body).textContent ||
			'it could not be sent';
	};

	// Waits, unless the network comes back or somebody presses a button.
	const pause = (u, seconds) => new Promise(done => {
		const timer = setTimeout(() => u.wake(), 1000 * seconds);
		u.note = 'cut off; tries again within ' + timeText(seconds);
		u.wake = () => {
			clearTimeout(timer);
			u.note = u.wake = null;
			done();
		};
	});

	// It is stored: are they the file's bytes?
	const end = async (u, request) => {
		const theirs = request.getResponseHeader('repr-digest');
		const same = !theirs || theirs === await u.digest.catch(() => null);
		forget(u);
		if (!same)
			return fail(u, 'stored, but not with the bytes that the file has now');
		stored++;
		bytesStored += u.file.size;
		uploads = uploads.filter(other => other !== u);
		leave(u.item);
	};

	// A file that must not be replaced may be this one: the answer to an earlier request was lost. The range is one byte
	// longer than the file, so that a longer file is another one.
	const isThere = async u => {
		const answer = await fetch(u.url, {cache: 'no-store', headers: {range: 'bytes=0-' + u.file.size}});
		if (answer.status === 416)
			return !u.file.size; // neither has a byte
		return answer.ok && await digest(await answer.blob(), () => true) === await u.digest;
	};

	const run = async u => {
		const mine = u.turn = {};
		let sure = false, tries = 0; // sure: u.sent is what the server has
		Object.assign(u, {state: 'sends', meter: {}, digest: u.digest || digest(u.file, () => uploads.includes(u))});
		u.digest.catch(() => {}); // asked for at the end
		while (u.turn === mine) {
			const request = await (!u.at ? begin(u) : sure ? append(u) : ask(u, 'HEAD', u.at));
			const status = request.status, good = status >= 200 && status < 300, of = name => request.getResponseHeader(name);
			if (u.turn !== mine)
				return;
			if (good && (of('upload-complete') === '?1' || !u.at && u.whole))
				return end(u, request);
			if (status === 409 && !u.at && u.whole && u.resumes) {
				const there = await isThere(u).catch(() => false);
				if (there || u.turn !== mine)
					return u.turn === mine && end(u, request);
			}
			if (good) {
				tries = +of('upload-offset') > u.sent ? 0 : tries;
				Object.assign(u, {at: u.at || new URL(of('location'), u.url).href, sent: +of('upload-offset')});
				remember(u);
			} else if (u.at && (status === 404 || status === 410)) {
				forget(u);
				await pause(u, Math.min(30, 2 ** tries++) * (1 + Math.random()) / 2);
			} else if (status === 413 && u.resumes && piece > LEAST && u.file.size > LEAST) {
				most = resize(piece / 2); // by a proxy: the server was asked before
			} else if (status === 405 && u.resumes && !u.path.includes('/')) {
				u.resumes = false;
				forget(u);
			} else if (!status && !await u.file.slice(0, 1).arrayBuffer().catch(() => null)) {
				return fail(u, 'the file has changed, or it cannot be read');
			} else if (AGAIN.includes(status) && (status !== 409 || u.at && (!sure || of('upload-offset')))) {
				await pause(u, +of('retry-after') || Math.min(30, 2 ** tries++) * (1 + Math.random()) / 2);
			} else {
				u.at = status === 409 ? null : u.at; // it may be another tab's now
				return (status === 401 ? [u, ...some('waits')] : [u]).forEach(one => fail(one, why(request)));
			}
			sure = good;
		}
	};

	// --- all files ---

	const look = async () => {
		const answer = await fetch(location.href);
		if (!answer.ok)
			return;
		const fresh = parse(await answer.text());
		for (const part of ['table', 'main>p'])
			document.querySelector(part).replaceWith(fresh.querySelector(part));
		document.querySelector('nav')?.remove();
		document.querySelector('table').after(fresh.querySelector('nav') || '');
		document.querySelector('main').dispatchEvent(new Event('listed'));
	};

	// Starts those that wait; a list of thousands would help no one, so some of them are shown.
	const work = async () => {
		for (const u of some('waits').slice(0, Math.max(0, AT_ONCE - some('sends').length)))
			run(u).catch(e => fail(u, e.message)).then(work);
		for (const u of uploads)
			if (!u.item.parentNode && (u.state !== 'waits' || list.children.length < SHOWN))
				list.append(u.item);
		tick();
		if (some('sends').length === 0 && busy) {
			const failed = some('failed').length, paused = some('paused').length;
			busy = false;
			clearInterval(clock);
			await look().catch(() => {});
			said.textContent = count(stored, 'file') + ' stored' + (failed ? ', ' + failed + ' not' : '') +
				(paused ? ', ' + paused + ' paused' : '') + (leftOut ? ', ' + count(leftOut, 'hidden file') + ' left out' : '');
		} else if (some('sends').length > 0 && !busy) {
			busy = true;
			clock = setInterval(tick, 500);
			said.textContent = 'Sending ' + count(some('waits', 'sends').length, 'file');
		}
	};

	const stop = (u, state) => {
		Object.assign(u, {turn: null, state});
		if (u.request)
			u.request.abort();
		if (u.wake)
			u.wake();
	};

	const acts = {
		Pause: u => {
			stop(u, 'paused');
			show(u, 'paused at ' + Math.floor(100 * u.bar.value) + ' %');
		},
		'Go on': u => {
			stop(u, 'waits');
			show(u, 'waits');
		},
		Retry: u => {
			u.digest = null;
			if (!u.at)
				recall(u);
			acts['Go on'](u);
		},
		Cancel: u => {
			stop(u, 'cancelled');
			if (u.at)
				drop(u.at);
			forget(u);
			uploads = uploads.filter(other => other !== u);
			leave(u.item);
		},
	};
	acts.Remove = acts.Cancel;
	const press = (name, those) => {
		those.forEach(acts[name]);
		work();
	};
	total.buttons.append(button('Pause', 'all files', () => press('Pause', some('waits', 'sends'))),
		button('Go on', 'with all files', () => press('Go on', some('paused'))),
		button('Cancel', 'all files', () => press('Cancel', some('waits', 'sends', 'paused'))));

	// Asks what the server offers for a file of that path.
	const offer = async path => {
		let answer;
		while (!(answer = await fetch(urlOf(path), {method: 'OPTIONS'}).catch(() => null)) || AGAIN.includes(answer.status)) {
			said.textContent = 'The server does not answer; trying again';
			await new Promise(done => setTimeout(done, 2000));
		}
		const limit = name => +((answer.headers.get('upload-limit') || '').match('\\b' + name + '=(\\d+)') || [])[1];
		resumes = (answer.headers.get('accept-patch') || '').includes('application/partial-upload');
		maxSize = limit('max-size') || Infinity;
		maxAge = limit('max-age');
		most = Math.min(most, limit('max-append-size') || most);
		resize(piece);
		return answer.status;
	};

	// Takes pairs of a file and its path. If the server does not make the directories, the names stay.
	const add = async pairs => {
		const seen = pairs.filter(([, path]) => !/(^|\/)\..*\/|\/\./.test(path)), depth = path => path.split('/').length;
		const deepest = seen.reduce((found, [, path]) => depth(path) > depth(found) ? path : found, 'x');
		const status = await offer(deepest), flat = (status < 400 ? !resumes : status === 404) && depth(deepest) > 1;
		if (flat)
			await offer('x');
		if (!busy) {
			some('failed').forEach(u => u.item.remove());
			uploads = some('waits', 'sends', 'paused');
			stored = bytesStored = leftOut = 0;
			total.meter = {};
		}
		leftOut += pairs.length - seen.length;
		for (const [file, long] of seen) {
			const path = flat ? long.slice(long.lastIndexOf('/') + 1) : long, url = urlOf(path);
			const u = {file, path, url, resumes, sent: 0, live: 0, state: 'waits', meter: {},
				bar: named('progress', path, {value: 0}), text: make('span'), buttons: make('div')};
			const clash = some('waits', 'sends', 'paused').some(other => other.url === url);
			u.item = make('li', {}, make('bdi', {textContent: path}), u.text, u.buttons, u.bar);
			list.querySelectorAll('li[data-key]').forEach(item => item.dataset.key === keyOf(u) && item.remove());
			uploads.push(u);
			if (clash)
				fail(u, long + ': another of these files has its name');
			else if (file.size > maxSize)
				fail(u, WORDS[413] + ': ' + sizeText(maxSize));
			else if (status === 401 || status >= 400 && !flat && path.includes('/'))
				fail(u, WORDS[status] || 'the server refuses this directory');
			else
				show(recall(u), 'waits');
		}
		work();
	};

	const folder = make('input', {type: 'file', id: 'folder', webkitdirectory: true});
	if ('webkitdirectory' in HTMLInputElement.prototype) {
		input.required = false;
		input.after(make('label', {}, 'or a directory', folder));
	}

	form.onsubmit = e => {
		const chosen = [...input.files, ...folder.files].map(file => [file, file.webkitRelativePath || file.name]);
		e.preventDefault();
		form.reset();
		if (chosen.length > 0)
			add(chosen);
		else
			input.focus();
	};

	// The files of what was dropped, which may be a directory.
	const walk = async entry => {
		const found = [], get = (of, name) => new Promise((done, no) => of[name](done, no));
		if (entry.isFile)
			return [[await get(entry, 'file'), entry.fullPath.slice(1)]];
		const reader = entry.createReader();
		for (let part; (part = await get(reader, 'readEntries')).length > 0;)
			for (const one of part)
				found.push(...await walk(one));
		return found;
	};

	const holdsFiles = e => e.dataTransfer && e.dataTransfer.types.includes('Files');
	document.ondragover = e => {
		if (holdsFiles(e)) {
			e.preventDefault();
			form.className = 'over';
		}
	};
	document.ondragleave = e => {
		if (!e.relatedTarget)
			form.className = '';
	};
	document.ondrop = async e => {
		form.className = '';
		if (!holdsFiles(e))
			return;
		e.preventDefault();
		const entries = [...e.dataTransfer.items].map(item => item.webkitGetAsEntry()).filter(Boolean);
		add((await Promise.all(entries.map(entry => walk(entry).catch(() => [])))).flat());
	};
	onbeforeunload = e => {
		if (busy)
			e.preventDefault();
	};
	ononline = () => some('sends').forEach(u => u.wake ? u.wake() : u.request.abort());
	form.querySelector('label').textContent += ' (or drop them here)';
	showRemembered();
})();
