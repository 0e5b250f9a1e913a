"use strict";
// Passkeys need a script: their forms show only where the browser has them.
const toText = (raw) => btoa(String.fromCharCode(...new Uint8Array(raw)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const toBytes = (text) => Uint8Array.from(
  atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

async function challenge(form) {
  const answer = await fetch(`${form.getAttribute("action")}/challenge`, {
    method: "POST",
    headers: { Accept: "application/json" },
    body: new URLSearchParams({ csrf: form.elements.csrf.value }),
  });
  const asked = await answer.json();
  if (!answer.ok) throw new Error(asked.error);
  asked.challenge = toBytes(asked.challenge);
  return asked;
}

const ways = {
  async "sign-in"(form) {
    const found = await navigator.credentials.get({ publicKey: await challenge(form) });
    const { clientDataJSON, authenticatorData, signature, userHandle } = found.response;
    return {
      credential: toText(found.rawId),
      client_data: toText(clientDataJSON),
      data: toText(authenticatorData),
      signature: toText(signature),
      user: userHandle ? toText(userHandle) : "",
    };
  },
  async add(form) {
    const asked = await challenge(form);
    asked.user.id = toBytes(asked.user.id);
    for (const each of asked.excludeCredentials) each.id = toBytes(each.id);
    const made = await navigator.credentials.create({ publicKey: asked });
    const { clientDataJSON, attestationObject } = made.response;
    return { client_data: toText(clientDataJSON), attestation: toText(attestationObject) };
  },
};

function reason(error) {
  if (error.name === "NotAllowedError") return "Nothing was done: it was cancelled, or took too long.";
  if (error.name === "InvalidStateError") return "This device has a passkey of yours already.";
  return `That did not work: ${error.message}`;
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.hidden = !window.PublicKeyCredential;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button"), problem = form.querySelector(".problem");
    button.disabled = true;
    problem.hidden = true;
    try {
      const fields = await ways[form.dataset.passkey](form);
      for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
      form.submit();
    } catch (error) {
      problem.textContent = reason(error);
      problem.hidden = false;
      button.disabled = false;
    }
  });
}
