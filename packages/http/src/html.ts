/** HTML as values: whatever is put into a template is escaped unless it is HTML already. */
export interface Html {
  readonly text: string;
}

export function html(strings: TemplateStringsArray, ...values: readonly (string | number | Html)[]): Html {
  const text = strings.reduce((before, part, index) => before + escaped(values[index - 1] ?? '') + part);
  return { text };
}

/** Only for texts of our own. */
export function raw(text: string): Html {
  return { text };
}

export function join(parts: readonly Html[]): Html {
  return { text: parts.map(({ text }) => text).join('') };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(value: string | number | Html): string {
  if (typeof value === 'object') return value.text;
  return String(value).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
