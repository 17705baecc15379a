/** Starts Swagger UI for the document that the page names. Runs in the browser, as it stands here. */

/** Calls go to where the page was opened: its policy admits no other origin, and it is the same service. */
const servers = [{ url: '/v1' }];

/** By any words of the path, the texts and the error codes, where Swagger UI by itself looks at names of groups only. */
function opsFilter(groups, phrase) {
  const words = phrase.toLowerCase().split(/\s+/);
  return groups
    .map((group, name) =>
      group.update('operations', (operations) =>
        operations.filter((entry) => {
          const text = searchedText(name, entry);
          return words.every((word) => text.includes(word));
        }),
      ),
    )
    .filter((group) => group.get('operations').size > 0);
}

function searchedText(group, entry) {
  const operation = entry.get('operation');
  // The description of an answer names its codes.
  const answers = operation.get('responses').map((answer) => answer.get('description'));
  const texts = ['operationId', 'summary', 'description'].map((name) => operation.get(name) ?? '');
  return [group, entry.get('method'), entry.get('path'), ...texts, ...answers.values()]
    .join(' ')
    .toLowerCase();
}

const searchField =
  (_original, { React }) =>
  ({ layoutSelectors, layoutActions }) => {
    const phrase = layoutSelectors.currentFilter();
    return React.createElement('input', {
      className: 'search',
      type: 'search',
      placeholder: 'Search: a path, a word, an error code',
      'aria-label': 'Search the endpoints',
      value: typeof phrase === 'string' ? phrase : '',
      onChange: ({ target }) => layoutActions.updateFilter(target.value),
    });
  };

const ours = () => ({
  fn: { opsFilter },
  wrapComponents: { FilterContainer: searchField },
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (description) => update({ ...description, servers }),
      },
    },
  },
});

const place = document.getElementById('docs');
SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  plugins: [ours],
  deepLinking: true,
  filter: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  persistAuthorization: false,
  // It would show the document to a server of others.
  validatorUrl: null,
});
