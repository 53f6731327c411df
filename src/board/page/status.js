// status.js: the page /status: asks /status.json once a second, while somebody sees it.
'use strict';
(() => {
	const HEIGHT = 48, STEP = 4, SECONDS = 60;
	let paused = false, timer = 0, asked = 0;

	// The last minute; its newest second at the right.
	const spark = history => {
		const most = Math.max(0, ...history), first = SECONDS - history.length;
		const x = i => (first + i) * STEP, y = n => (HEIGHT - 1 - (HEIGHT - 2) * n / (most || 1)).toFixed(1);
		const line = history.map((n, i) => x(i) + ' ' + y(n)).join('L');
		const [area, path] = $('spark').children;
		area.setAttribute('d', line && 'M' + x(0) + ' ' + HEIGHT + 'L' + line + 'L' + x(history.length - 1) + ' ' + HEIGHT + 'Z');
		path.setAttribute('d', line && 'M' + line);
		$('spark').setAttribute('aria-label', 'Requests per second in the last minute, ' + most + ' at most');
		put('most', String(most));
	};

	const worker = w => make('tr', {}, make('th', {scope: 'row'}, String(w.slot)), make('td', {class: w.state}, w.state),
		...[data(w.pid, w.pid), String(w.generation), count(w.connections), count(w.requests), count(w.requests_per_second),
			human.us(w.first_byte_p50_us), human.us(w.first_byte_p99_us)].map(cell => make('td', {}, cell)));

	const peer = p => make('tr', {}, make('th', {scope: 'row'}, p.name),
		...[p.responses, p.connect, p.timeout, p.reset, p.response].map(n => make('td', {}, count(n))));

	const line = l => {
		const [day, hour] = human.time(l.time);
		return make('li', {}, make('time', {datetime: day + 'T' + hour + 'Z'}, day + ' ', make('b', {}, hour)), ' ',
			make('span', {class: l.level}, l.level), ' ', make('span', {class: 'who'}, l.who), ' ', make('p', {}, l.text));
	};

	const show = s => {
		const t = s.totals, looks = t.cache_hits + t.cache_misses, process = pid => pid ? ['process ', data(pid, pid)] : ['none'];
		stamp(s.time);
		put('rate', count(t.requests_per_second));
		spark(s.history);
		put('connections', count(t.connections));
		put('sent', data(t.bytes_out_per_second, human.bytes(t.bytes_out_per_second)));
		put('p50', human.us(t.first_byte_p50_us));
		put('p99', human.us(t.first_byte_p99_us));
		put('share', looks > 0 ? (100 * t.cache_hits / looks).toFixed(1) + ' %' : DASH);
		put('rows', ...s.workers.map(worker));
		for (const [id, n] of [['requests', t.requests], ['r2', t.responses_2xx], ['r3', t.responses_3xx], ['r4', t.responses_4xx],
				['r5', t.responses_5xx], ['aborted', t.requests_aborted], ['live', t.requests_live], ['image', s.image],
				['files', s.cache.entries], ['pending', s.cache.pending], ['hits', t.cache_hits], ['misses', t.cache_misses],
				['generation', s.generation]])
			put(id, count(n));
		put('age', s.image ? human.seconds(s.image_age) : DASH);
		put('size', data(s.image_size, human.bytes(s.image_size)));
		put('machine', s.instance_name || DASH);
		put('version', s.version);
		put('health', s.unhealthy.length ? '503: ' + s.unhealthy.join(', ') : '200');
		put('uptime', human.seconds(s.uptime));
		put('dispatch', s.dispatch);
		put('balance', s.balance);
		put('certificate', s.certificate_expires ?
			Math.trunc((s.certificate_expires - s.time / 1000) / 86400) + ' days' : DASH);
		put('keeper', ...process(s.keeper));
		put('acceptor', ...process(s.acceptor));
		$('applications').hidden = !s.upstreams.length;
		put('peers', ...s.upstreams.map(peer));
		put('lines', ...(s.lines.length ? s.lines.map(line) : [make('li', {class: 'none'}, 'None since the start.')]));
	};

	const look = async () => {
		const mine = ++asked;
		clearTimeout(timer);
		if (paused || document.hidden)
			return;
		try {
			const status = await ask('/status.json');
			if (mine !== asked)
				return;
			show(status);
			say('live', 'Live');
		} catch {
			if (mine !== asked)
				return;
			say('lost', 'No answer since ' + ($('stamp').textContent || 'the page was opened') + ', trying again');
		}
		timer = setTimeout(look, 1000);
	};

	$('pause').onclick = () => {
		paused = !paused;
		$('pause').textContent = paused ? 'Go on' : 'Pause';
		if (paused)
			say('paused', 'Paused');
		look();
	};
	document.addEventListener('visibilitychange', look);
	look();
})();
