// SPDX-License-Identifier: Apache-2.0

// Finds sections of the documentation that contain every word of the query. search-index.js, which
// is loaded earlier, sets window.searchIndex.

const root = document.documentElement.dataset.root;
const input = document.getElementById('search');
const panel = document.getElementById('results');
const count = document.getElementById('count');
const list = panel.querySelector('ol');
const most = 30;

const folded = window.searchIndex.map((item) => ({
  item, title: item.t.toLowerCase(), section: (item.s ?? '').toLowerCase(), text: (item.x ?? '').toLowerCase(),
}));

// score returns 0 if a word is missing. Headings score higher than text, and the beginning of a
// word higher than its middle.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    const points = place(entry.section, word) * 8 + place(entry.title, word) * 4 + place(entry.text, word);
    if (points === 0) return 0;
    sum += points;
  }
  return sum;
}

function place(text, word) {
  const at = text.indexOf(word);
  if (at < 0) return 0;
  if (text === word) return 4;
  return at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]) ? 2 : 1;
}

// excerpt returns the text around the first match, with the matches marked.
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const first = Math.max(0, Math.min(...words.map((w) => lower.indexOf(w)).filter((at) => at >= 0), text.length) - 60);
  const part = document.createElement('p');
  let rest = text.slice(first, first + 180);
  if (first > 0) part.append('… ');
  while (rest) {
    const low = rest.toLowerCase();
    const hits = words.map((w) => [low.indexOf(w), w.length]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0]);
    if (hits.length === 0) break;
    const [at, length] = hits[0];
    const mark = document.createElement('mark');
    mark.textContent = rest.slice(at, at + length);
    part.append(rest.slice(0, at), mark);
    rest = rest.slice(at + length);
  }
  part.append(rest);
  return part;
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.replaceChildren();
  panel.hidden = words.length === 0;
  if (panel.hidden) return;
  const found = folded.map((entry) => [score(entry, words), entry.item]).filter(([points]) => points > 0);
  found.sort((a, b) => b[0] - a[0]);
  count.textContent = found.length === 0 ? 'Nothing found' : `${found.length} found`;
  for (const [, item] of found.slice(0, most)) {
    const link = document.createElement('a');
    link.href = root + item.p + (item.a ? `#${item.a}` : '');
    const title = document.createElement('strong');
    title.textContent = item.s ?? item.t;
    link.append(title, ' ', item.s ? item.t : '', excerpt(item.x ?? '', words));
    const li = document.createElement('li');
    li.append(link);
    list.append(li);
  }
}

input.addEventListener('input', show);
input.addEventListener('focus', show);
document.addEventListener('click', (event) => {
  if (!event.target.closest('.search') || event.target.closest('#results a')) panel.hidden = true;
});
document.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape' && !panel.hidden) {
    input.focus();
    panel.hidden = true;
  } else if (panel.hidden || links.length === 0) {
    return;
  } else if (event.key === 'ArrowDown') {
    event.preventDefault();
    links[Math.min(at + 1, links.length - 1)].focus();
  } else if (event.key === 'ArrowUp') {
    event.preventDefault();
    (links[at - 1] ?? input).focus();
  } else if (event.key === 'Enter' && document.activeElement === input) {
    links[0].click();
  }
});
// A narrow window starts with the text, not with the navigation.
if (window.matchMedia('(max-width: 800px)').matches) document.querySelector('.pages').open = false;
if (input.value) show(); // The reader has typed before this script ran.
