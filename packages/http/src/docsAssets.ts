/** Style and script of the documentation page. The page is complete without the script. */

export const DOCS_STYLE = `
:root { color-scheme: light dark; --ink: #1c2128; --soft: #57606a; --paper: #fff; --panel: #f4f6f8;
  --line: #d8dee4; --accent: #0757ba; --good: #116329; --write: #8a4600; --bad: #a40e26; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --paper: #0f141a;
  --panel: #171d25; --line: #313a45; --accent: #79b8ff; --good: #7ee787; --write: #ffb86b; --bad: #ff9492; } }
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); color: var(--ink);
  background: var(--paper); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--accent); } a:focus-visible, button:focus-visible, summary:focus-visible, pre:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; } .skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.25rem; background: var(--panel);
  border-right: 1px solid var(--line); font-size: .875rem; }
nav .brand { font-size: 1.25rem; font-weight: 700; margin: 0 0 1rem; }
nav h2 { font-size: .875rem; margin: 1.25rem 0 .25rem; text-transform: capitalize; }
nav ul { list-style: none; margin: 0; padding: 0; } nav li a { display: block; padding: .15rem 0; overflow-wrap: anywhere; }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
main { padding: 2rem clamp(1rem, 4vw, 3.5rem) 6rem; max-width: 62rem; }
h1 { font-size: 2rem; line-height: 1.2; } main h2 { margin-top: 3rem; text-transform: capitalize; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; } h4 { margin: 1.25rem 0 .4rem; font-size: .95rem; }
small { color: var(--soft); font-weight: 400; }
article { margin: 1.5rem 0; padding: 1.25rem; border: 1px solid var(--line); border-radius: .6rem; scroll-margin-top: 1rem; }
article:target { border-color: var(--accent); }
.m { display: inline-block; min-width: 3.6em; font: 700 .78rem ui-monospace, monospace; color: var(--good); }
.m.post, .m.put { color: var(--write); } .m.delete { color: var(--bad); }
.auth { color: var(--soft); border: 1px solid var(--line); border-radius: 1rem; padding: .05rem .6rem; font-size: .8rem; white-space: nowrap; }
.req { color: var(--bad); font-size: .75rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Consolas, monospace; font-size: .85em; }
table { width: 100%; border-collapse: collapse; font-size: .875rem; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } th { color: var(--soft); font-weight: 600; }
.code { position: relative; } pre { margin: 0; padding: .9rem 1rem; background: var(--panel); border-radius: .5rem; overflow-x: auto; }
.code button { position: absolute; right: .5rem; top: .5rem; font: inherit; font-size: .75rem; padding: .15rem .6rem;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; cursor: pointer; }
summary { cursor: pointer; margin-top: 1rem; font-weight: 600; font-size: .95rem; }
@media (max-width: 52rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; } }
`;

export const DOCS_SCRIPT = `
for (const block of document.querySelectorAll('.code')) {
  const button = block.querySelector('button');
  const code = block.querySelector('code');
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
}
`;
