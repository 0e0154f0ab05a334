// Pointing at a store fades out the others, in all plots and tables. The page says all it has to say without this.
(function () {
  "use strict";
  var root = document.documentElement;
  window.addEventListener("error", function (event) { root.dataset.error = String(event.message); });
  var parts = document.querySelectorAll("[data-series],[data-row]");
  function number(part) { return part.dataset.series || part.dataset.row; }
  function pick(chosen) {
    root.classList.toggle("picked", chosen !== null);
    parts.forEach(function (part) { part.classList.toggle("on", number(part) === chosen); });
  }
  parts.forEach(function (part) {
    part.addEventListener("mouseenter", function () { pick(number(part)); });
    part.addEventListener("mouseleave", function () { pick(null); });
  });
  root.dataset.ready = String(parts.length);
})();
