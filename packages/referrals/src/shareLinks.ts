/** Share links of a player. Source: contract, Referrals (codes). */

/** Each template with the code in it: `{code}` as it is, `{codeUrl}` percent-encoded. */
export function shareLinksOf(
  templates: Readonly<Record<string, string>>,
  code: string,
): Record<string, string> {
  const filled = (template: string) =>
    template.replaceAll('{codeUrl}', encodeURIComponent(code)).replaceAll('{code}', code);
  return Object.fromEntries(
    Object.entries(templates).map(([platform, template]) => [platform, filled(template)]),
  );
}
