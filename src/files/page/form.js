// form.js: sends the files of a listing's form one behind the other, each in a form of its own, so that one that is
// refused stops no other; but what is refused for its password is refused for all. At the end the table is as a new look
// at the folder would show it.
'use strict';
(() => {
	const form = document.forms[0], input = form.elements.file, said = form.querySelector('p');
	const list = form.querySelector('ul'), queue = [];
	let busy = false, stored = 0, failed = 0;

	const parse = text => new DOMParser().parseFromString(text, 'text/html');

	const add = files => {
		if (!busy)
			list.replaceChildren();
		for (const file of files) {
			const item = document.createElement('li'), name = document.createElement('bdi');
			const end = document.createElement('span'), bar = document.createElement('progress');
			name.textContent = file.name;
			end.textContent = 'waits';
			bar.max = 1;
			bar.value = 0;
			bar.setAttribute('aria-label', file.name);
			item.append(name, end, bar);
			list.append(item);
			queue.push({file, item, end, bar});
		}
		work();
	};

	const send = ({file, end, bar}) => new Promise(done => {
		const request = new XMLHttpRequest(), data = new FormData();
		data.append('file', file);
		request.open('POST', form.action);
		request.setRequestHeader('accept', 'application/json');
		request.upload.onprogress = e => {
			if (e.lengthComputable) {
				bar.value = e.loaded / e.total;
				end.textContent = Math.floor(100 * bar.value) + ' %';
			}
		};
		request.onloadend = () => done(request);
		request.send(data);
	});

	const fail = ({item, end, bar}, why) => {
		failed++;
		bar.remove();
		item.className = 'bad';
		end.textContent = why;
	};

	const why = request => {
		const page = parse(request.responseText);
		return (page.querySelector('.why') || page.querySelector('h1') || page.body).textContent ||
			'it could not be sent';
	};

	const look = async () => {
		const answer = await fetch(location.href);
		if (!answer.ok)
			return;
		const fresh = parse(await answer.text());
		for (const part of ['table', 'main>p'])
			document.querySelector(part).replaceWith(fresh.querySelector(part));
	};

	const work = async () => {
		if (busy)
			return;
		busy = true;
		stored = failed = 0;
		for (let next; next = queue.shift();) {
			said.textContent = 'Sending ' + next.file.name;
			const request = await send(next);
			if (request.status >= 200 && request.status < 300) {
				stored++;
				next.item.remove();
				continue;
			}
			fail(next, why(request));
			if (request.status === 401)
				while (next = queue.shift())
					fail(next, why(request));
		}
		busy = false;
		await look().catch(() => {});
		said.textContent = stored + (stored === 1 ? ' file' : ' files') + ' stored' +
			(failed ? ', ' + failed + ' not' : '');
	};

	form.onsubmit = e => {
		e.preventDefault();
		add(input.files);
		form.reset();
	};

	const files = e => e.dataTransfer && e.dataTransfer.types.includes('Files');
	document.ondragover = e => {
		if (files(e)) {
			e.preventDefault();
			form.className = 'over';
		}
	};
	document.ondragleave = e => {
		if (!e.relatedTarget)
			form.className = '';
	};
	document.ondrop = e => {
		form.className = '';
		if (files(e)) {
			e.preventDefault();
			add(e.dataTransfer.files);
		}
	};
	onbeforeunload = e => {
		if (busy)
			e.preventDefault();
	};
	form.querySelector('label').textContent += ' (or drop them here)';
})();
