"use strict";
// A sign-in link carries its secret behind the #, which no browser sends to a server.
function takeLink() {
  const secret = location.hash.slice(1);
  if (!secret) return;
  history.replaceState(null, "", location.pathname + location.search);
  document.getElementById("secret").value = secret;
  document.getElementById("link-field").hidden = true;
  document.getElementById("link-here").hidden = false;
  document.querySelector("#by-link button").focus();
}
takeLink();
// Where the page is open already, a link that is pasted into its address loads nothing anew.
addEventListener("hashchange", takeLink);
