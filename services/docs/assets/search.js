/** The search of the documentation: an index that the browser builds at the first search. Nothing leaves the computer. */
import MiniSearch from './minisearch.js';

const input = document.getElementById('search');
const results = document.getElementById('results');
let loading;

async function load() {
  const entries = await (await fetch(new URL('search.json', import.meta.url))).json();
  const index = new MiniSearch({
    fields: ['title', 'heading', 'text'],
    storeFields: ['title', 'heading'],
    // Names like OS::Heat::Stack and deployment.output are found by their parts.
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean),
    searchOptions: { boost: { title: 4, heading: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
  });
  index.addAll(entries);
  return index;
}

function show(found) {
  results.replaceChildren(
    ...found.slice(0, 12).map(({ id, title, heading }) => {
      const link = document.createElement('a');
      link.href = id;
      link.textContent = heading === '' ? title : `${title}: ${heading}`;
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
  if (found.length === 0) results.textContent = 'Nothing was found.';
  results.hidden = false;
}

async function search() {
  const query = input.value.trim();
  if (query === '') {
    results.hidden = true;
    return;
  }
  loading ??= load();
  const index = await loading;
  // A later key press has its own search.
  if (input.value.trim() === query) show(index.search(query));
}

input.addEventListener('input', () => void search());
input.form.addEventListener('submit', (event) => {
  event.preventDefault();
  results.querySelector('a')?.click();
});
document.addEventListener('click', (event) => {
  if (!input.form.contains(event.target)) results.hidden = true;
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape') results.hidden = true;
});
