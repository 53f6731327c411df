// human.js: what both pages of admin listeners have in common: numbers as people read them (base/human.h), and elements made
// of text. Text of peers is text, whatever is in it.
'use strict';
const $ = id => document.getElementById(id);
const DASH = '\u2013';

const human = {
	count: n => String(Math.max(0, n)).replace(/\B(?=(\d{3})+$)/g, '\u202f'),
	bytes: n => {
		let unit = 0;
		for (n = Math.max(0, n) / 1024; n >= 1023.5; n /= 1024)
			unit++;
		return !unit && n < 1 ? Math.round(n * 1024) + ' B' : (n < 9.95 ? n.toFixed(1) : Math.round(n)) + ' ' + 'KMGTPE'[unit] + 'iB';
	},
	seconds: s => {
		const min = Math.floor(s / 60), h = Math.floor(min / 60), d = Math.floor(h / 24);
		return d ? d + ' d ' + h % 24 + ' h' : h ? h + ' h ' + min % 60 + ' min' : min ? min + ' min ' + s % 60 + ' s' : s + ' s';
	},
	us: n => n === null ? DASH : n >= 999500 ? (n / 1e6).toFixed(2) + ' s' :
		(n / 1e3).toFixed(n < 9995 ? 2 : n < 99950 ? 1 : 0) + ' ms',
	time: ms => new Date(ms).toISOString().slice(0, 19).split('T'),
};

// An element of that name; of = {attribute: value}.
const make = (name, of, ...content) => {
	const made = document.createElement(name);
	for (const key in of)
		made.setAttribute(key, of[key]);
	made.append(...content);
	return made;
};

// A number for programs, and as people have it.
const data = (n, text) => make('data', {value: n}, text);
const count = n => data(n, human.count(n));

// What a reader has selected stays.
const held = part => {
	const selection = getSelection();
	return !selection.isCollapsed && selection.containsNode(part, true);
};
const put = (id, ...content) => {
	const old = $(id), fresh = make(old.tagName, {}, ...content);
	if (old.innerHTML !== fresh.innerHTML && !held(old))
		old.replaceChildren(...fresh.childNodes);
};
const stamp = ms => {
	const [day, hour] = human.time(ms);
	put('stamp', make('time', {datetime: day + 'T' + hour + 'Z'}, day + ' ', make('b', {}, hour)), ' UTC');
};

const say = (name, text) => {
	document.documentElement.dataset.state = name;
	if ($('state').textContent !== text)
		$('state').textContent = text;
};
const ask = async path => {
	const answer = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(5000)});
	if (!answer.ok)
		throw new Error('status ' + answer.status);
	return answer.json();
};
