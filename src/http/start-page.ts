/** What `GET /` says: which service this is and how to send it a first message. */

function curlLine(address: string): string {
  return `curl -s ${address}/v1/runs -H 'content-type: application/json' \\
  -d '{"chat":{"launcher_id":"me"},"input":{"text":"Hello"}}'`;
}

export function startPageText(version: string, address: string): string {
  return `Berth ${version}: every chat gets its own box, every exported file is delivered.

Send a message:
${curlLine(address)}

Routes: /openapi.json   Ready: /readyz   With a key: -H 'authorization: Bearer KEY'
`;
}

export function startPageHtml(version: string, address: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Berth</title></head>
<body>
<h1>Berth ${escapeHtml(version)}</h1>
<p>Every chat gets its own box, every exported file is delivered.</p>
<p>Send a message:</p>
<pre>${escapeHtml(curlLine(address))}</pre>
<p><a href="/openapi.json">Routes</a> · <a href="/readyz">Ready?</a></p>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
