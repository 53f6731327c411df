// list.js: finds names while one types, by asking for the directory anew; remembers the order; shows the pictures of a
// page in a row, and pictures, sound, film and text in a dialog. Without it all links and the field work as well.
'use strict';
(() => {
	const main = document.querySelector('main'), find = main.querySelector('.find input');
	const box = document.createElement('dialog');
	const kinds = {
		img: /\.(avif|bmp|gif|ico|jpe?g|png|svg|webp)$/i,
		audio: /\.(aac|flac|m4a|mp3|oga|ogg|opus|wav)$/i,
		video: /\.(m4v|mp4|ogv|webm)$/i,
		pre: /\.(c|conf|cpp|css|csv|diff|go|h|ini|java|js|json|log|md|patch|py|rs|sh|toml|ts|txt|xml|ya?ml)$/i,
	};
	const TEXT = 256 << 10, MEMORY = 'h2d order'; // bytes that are shown of a text
	let shown = 0;

	const kind = link => Object.keys(kinds).find(k => kinds[k].test(link.pathname));
	const links = () => [...main.querySelectorAll('tbody a')].filter(kind);

	// The text at the address, or its beginning.
	const read = async url => {
		const answer = await fetch(url, {headers: {range: 'bytes=0-' + (TEXT - 1)}}), of = answer.headers.get('content-range');
		if (answer.status === 416)
			return '';
		if (!answer.ok)
			throw answer.status;
		return await answer.text() + (of && +of.split('/')[1] > TEXT ? ' …' : '');
	};

	const media = link => {
		const part = document.createElement(kind(link));
		if (part.localName === 'pre') {
			read(link.href).catch(() => 'It cannot be read.').then(text => part.textContent = text);
			return part;
		}
		part.src = link.href;
		if (part.localName === 'img')
			part.alt = link.textContent;
		else
			part.controls = part.autoplay = true;
		return part;
	};

	const show = link => {
		const name = document.createElement('a'), close = document.createElement('button');
		shown = links().findIndex(other => other.href === link.href);
		name.href = link.href;
		name.textContent = link.textContent;
		close.textContent = 'Close';
		close.onclick = () => box.close();
		box.replaceChildren(media(link), name, close);
		if (!box.open)
			box.showModal();
	};

	// A row of the page's pictures, which are fetched when it is opened.
	const row = () => {
		const pictures = links().filter(link => kind(link) === 'img'), strip = document.createElement('details');
		const title = document.createElement('summary'), list = document.createElement('div');
		main.querySelector('details')?.remove();
		if (!pictures.length)
			return;
		title.textContent = pictures.length === 1 ? '1 picture' : pictures.length + ' pictures';
		strip.append(title, list);
		strip.ontoggle = () => {
			if (strip.open && !list.firstChild)
				list.append(...pictures.map(link => {
					const copy = document.createElement('a'), picture = media(link);
					copy.href = link.href;
					picture.loading = 'lazy';
					copy.append(picture);
					return copy;
				}));
		};
		main.querySelector('table').before(strip);
	};

	let wait, last = 0;
	const look = async (query = location.search) => {
		const url = new URL(location.href), turn = ++last;
		url.search = query;
		const answer = await fetch(url);
		if (!answer.ok || turn !== last)
			return;
		const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
		if (!page.querySelector('table'))
			return;
		history.replaceState(null, '', url);
		main.querySelector('nav')?.remove();
		for (const part of ['table', 'main>p'])
			main.querySelector(part).replaceWith(page.querySelector(part));
		if (page.querySelector('nav'))
			main.querySelector('table').after(page.querySelector('nav'));
		main.dispatchEvent(new Event('listed'));
	};

	if (find)
		find.oninput = () => {
			clearTimeout(wait);
			wait = setTimeout(() => look(new URLSearchParams(new FormData(find.form))).catch(() => {}), 150);
		};

	// The order that was chosen last, here or in another directory.
	const remember = () => {
		const asked = new URLSearchParams(location.search);
		if (asked.has('sort')) {
			localStorage.setItem(MEMORY, new URLSearchParams({sort: asked.get('sort'), order: asked.get('order') ?? 'asc'}));
			return;
		}
		for (const [name, value] of new URLSearchParams(localStorage.getItem(MEMORY) ?? '')) {
			asked.set(name, value);
			if (find)
				find.form.elements[name].value = value;
		}
		if (asked.has('sort') && asked.get('sort') + asked.get('order') !== 'nameasc')
			look(asked).catch(() => {});
	};

	main.addEventListener('click', e => {
		const link = e.target.closest('tbody a, details a');
		if (!link || !kind(link) || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey)
			return;
		e.preventDefault();
		show([...links()].find(other => other.href === link.href) ?? link);
	});
	box.onkeydown = e => {
		const step = {ArrowLeft: -1, ArrowRight: 1}[e.key], all = links();
		if (step && e.target.localName !== 'audio' && e.target.localName !== 'video' && all[shown + step])
			show(all[shown + step]);
	};
	box.onclose = () => box.replaceChildren();
	box.setAttribute('aria-label', 'Preview');
	main.append(box);
	try {
		remember();
	} catch {
		// The browser keeps nothing for this site.
	}
	main.addEventListener('listed', row); // also by form.js
	main.addEventListener('changed', () => look().catch(() => {})); // by edit.js
	row();
})();
