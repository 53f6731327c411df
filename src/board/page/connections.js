// connections.js: the page /status/connections: asks /status/connections.json once, and again when told so.
'use strict';
(() => {
	const text = t => t, ms = n => n === null ? DASH : human.seconds(Math.floor(n / 1000)), bytes = n => data(n, human.bytes(n));
	// Members of board_conns.def, each with its head and how it is shown.
	const columns = [['client', 'Client', text], ['protocol', 'Protocol', text], ['transport', 'Transport', text],
		['state', 'State', text], ['waits_for', 'Waits for', text], ['left_ms', 'At most', ms],
		['streams_wait_for', 'Its streams wait', text], ['age_ms', 'Age', ms], ['streams', 'Streams', String],
		['requests', 'Requests', String], ['bytes_in', 'Received', bytes], ['bytes_out', 'Sent', bytes],
		['unread', 'Unread', bytes], ['held', 'Held', bytes], ['queued', 'Queued', bytes], ['subject', 'Certificate', text],
		['flags', 'Flags', names => names.join(', ')]];

	const row = (c, slot) => make('tr', {}, ...columns.map(([name, , show], i) =>
		i ? make('td', {}, show(c[name])) : make('th', {scope: 'row'}, show(c[name]))), make('td', {}, String(slot)));
	const note = (of, text) => make('tr', of, make('td', {colspan: columns.length + 1}, text));

	const worker = w => {
		const rows = w.connections.map(c => row(c, w.slot));
		if (!w.answers)
			rows.push(note({class: 'bad'}, 'Worker ' + w.slot + ' (process ' + w.pid +
				') does not answer: it stands still, and its clients wait for that.'));
		if (w.left_out)
			rows.push(note({}, w.left_out + ' more of worker ' + w.slot + ' are not shown.'));
		return rows;
	};

	const look = async () => {
		try {
			const found = await ask('/status/connections.json');
			stamp(found.time);
			put('rows', ...found.workers.flatMap(worker));
			say('shown', 'As it was when it was asked for');
		} catch (error) {
			say('lost', 'No answer: ' + error.message);
		}
	};

	put('heads', ...[...columns.map(column => column[1]), 'Worker'].map(head => make('th', {scope: 'col'}, head)));
	$('pause').onclick = look;
	look();
})();
