/** The text of a value that was parsed from JSON, however deeply it is nested. */

/** `JSON.stringify` calls itself for each level, which the parser does not: what others write can exhaust its stack. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return deepText(value);
    throw error;
  }
}

/** As `JSON.stringify` writes it. */
export function deepText(whole: unknown): string {
  let text = '';
  /** What is to be written yet, the next one last. */
  const rest: (string | { readonly value: unknown })[] = [{ value: whole }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') text += next;
    else if (typeof next.value !== 'object' || next.value === null) text += JSON.stringify(next.value);
    else {
      const isArray = Array.isArray(next.value);
      text += isArray ? '[' : '{';
      rest.push(isArray ? ']' : '}');
      const fields = Object.entries(next.value);
      for (const [index, [name, value]] of fields.entries().toArray().reverse()) {
        rest.push({ value }, `${index > 0 ? ',' : ''}${isArray ? '' : `${JSON.stringify(name)}:`}`);
      }
    }
  }
  return text;
}
