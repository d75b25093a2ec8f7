// An OpenID provider for the browser test, at https://localhost: whoever comes to /authorize is signed in at once, as `who` is set; its
// key is made here. `seen` has the path of each request, and `secrets` all that no browser may ever have.
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:https";

const base64url = (text) => Buffer.from(text).toString("base64url");

export async function open_provider({ key, cert, client_id, redirect_uri, signed_out_uri }) {
  const pair = generateKeyPairSync("ed25519");
  const grants = new Map(), seen = [], secrets = [], who = { sub: "anna", roles: ["readers"], says: "", lives_s: 600 };
  const token = (claims) => {
    const input = `${base64url(JSON.stringify({ alg: "EdDSA", kid: "one", typ: "JWT" }))}.${base64url(JSON.stringify(claims))}`;
    return `${input}.${sign(null, Buffer.from(input), pair.privateKey).toString("base64url")}`;
  };
  const exchange = (form, answer) => {
    const of = grants.get(form.get("code"));
    grants.delete(form.get("code"));
    const is_right = of && form.get("client_id") === client_id && form.get("redirect_uri") === redirect_uri &&
                     createHash("sha256").update(form.get("code_verifier")).digest("base64url") === of.challenge;
    if (!is_right) return answer.writeHead(400).end(JSON.stringify({ error: "invalid_grant" }));
    const now = Math.floor(Date.now() / 1000);
    const id_token = token({ iss: `${server.url}/fl`, aud: client_id, sub: who.sub, roles: who.roles, nonce: of.nonce, iat: now, exp: now + who.lives_s });
    secrets.push(id_token, form.get("code_verifier"));
    answer.end(JSON.stringify({ token_type: "Bearer", access_token: randomUUID(), id_token }));
  };
  const server = createServer({ key, cert }, (request, answer) => {
    const { pathname, searchParams } = new URL(request.url, "https://localhost");
    seen.push(pathname);
    if (pathname === "/keys") {
      answer.end(JSON.stringify({ keys: [{ ...pair.publicKey.export({ format: "jwk" }), kid: "one", use: "sig" }] }));
    } else if (pathname === "/authorize") {
      const code = randomUUID(), back = new URL(redirect_uri);
      back.searchParams.set("state", searchParams.get("state"));
      if (who.says) back.searchParams.set("error", who.says);
      else back.searchParams.set("code", code);
      grants.set(code, { nonce: searchParams.get("nonce"), challenge: searchParams.get("code_challenge") });
      answer.writeHead(302, { Location: back.href }).end();
    } else if (pathname === "/token") {
      let body = "";
      request.on("data", (piece) => { body += piece; });
      request.on("end", () => exchange(new URLSearchParams(body), answer));
    } else if (pathname === "/logout") {  // RP-Initiated Logout 1.0: of a client that it knows, to a place that it knows
      const is_ours = searchParams.get("client_id") === client_id && searchParams.get("post_logout_redirect_uri") === signed_out_uri;
      answer.writeHead(is_ours ? 302 : 400, { Location: signed_out_uri }).end();
    } else answer.writeHead(404).end();
  });
  await new Promise((up) => server.listen(0, "127.0.0.1", up));
  server.url = `https://localhost:${server.address().port}`;
  return { url: server.url, who, seen, secrets, close: () => { server.closeAllConnections(); server.close(); } };
}
