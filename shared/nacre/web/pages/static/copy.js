"use strict";
// Beside each text to be pasted stands a button that copies it; without a clipboard it is selected.
for (const button of document.querySelectorAll("button.copy")) {
  const shown = button.parentElement.querySelector("code");
  button.setAttribute("aria-label", `Copy: ${button.dataset.label}`);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(shown.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    } catch {
      getSelection().selectAllChildren(shown);
    }
  });
}
