"use strict";
// A sign-in link carries its secret behind the #, which no browser sends to a server.
const secret = location.hash.slice(1);
if (secret) {
  history.replaceState(null, "", location.pathname + location.search);
  document.getElementById("secret").value = secret;
  document.getElementById("link-field").hidden = true;
  document.getElementById("link-here").hidden = false;
  document.querySelector("#by-link button").focus();
}
